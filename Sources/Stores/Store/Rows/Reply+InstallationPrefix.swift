import Bytes
import StatusCrypto

extension Reply {
    /// The prefix of the hashed installation id, as in the rows of registrations, or nil if the reply names no installation.
    package var installationPrefix: Int64? { installationID.map { SHA256.hash($0.utf8Span.span).prefix } }
}
