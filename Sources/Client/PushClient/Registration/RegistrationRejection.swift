/// The reason why a server rejected a registration or unregistration: an error code from the protocol.
public struct RegistrationRejection: RawRepresentable, Hashable, Sendable, Codable {
    /// The code (PROTOCOL.md §6). A server may send 0, or a code that this client does not know.
    public let rawValue: Int32

    /// Takes any code.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The request is malformed or incomplete.
    public static let malformedMessage = RegistrationRejection(rawValue: 1)
    /// The installation's version at the server is the same or higher.
    public static let versionMismatch = RegistrationRejection(rawValue: 2)
    /// A service to which the server does not deliver.
    public static let unsupportedTokenType = RegistrationRejection(rawValue: 3)
    /// An internal error occurred at the server. A later attempt may succeed.
    public static let internalError = RegistrationRejection(rawValue: 4)
}

extension RegistrationRejection: CustomStringConvertible {
    /// A sentence for a user, with a suggestion.
    public var description: String {
        switch self {
        case .malformedMessage:
            """
            The server calls the registration malformed (MALFORMED_MESSAGE). Check that the access token is a UUID, that an APN device \
            token has 64 to 200 hex digits and comes with its topic, and that the installation id is a UUID.
            """
        case .versionMismatch:
            """
            The server knows the same or a higher version of this installation (VERSION_MISMATCH). Use a higher version, or none: \
            then it is the time in milliseconds.
            """
        case .unsupportedTokenType:
            "The server does not deliver to this service (UNSUPPORTED_TOKEN_TYPE). Use APN or Firebase."
        case .internalError:
            "The server had an internal error and stored nothing (INTERNAL_ERROR). Retry later."
        default:
            "The server rejected the request without a known reason (error \(rawValue))."
        }
    }
}
