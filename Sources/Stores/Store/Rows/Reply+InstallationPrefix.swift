import Bytes
import StatusCrypto

extension Reply {
    /// The hashed installation id's prefix, as in registrations' rows, or nil if the reply doesn't name an installation.
    package var installationPrefix: Int64? { installationID.map { SHA256.hash($0.utf8Span.span).prefix } }
}
