/// A server's confirmation of a registration.
public struct RegistrationReceipt: Hashable, Sendable {
    /// The installation that was registered or unregistered.
    public let installationID: String
    /// The version of the request; the next version must be higher.
    public let version: UInt64
    /// The access token that senders must present; nil after an unregistration.
    public let accessToken: String?
    /// The SHAKE-256 of the request as sent, 128 hex digits, which identified the response.
    public let requestID: String
}

extension RegistrationReceipt: CustomStringConvertible, CustomReflectable {
    /// A description without the access token.
    public var description: String { "<receipt of installation \(installationID), version \(version)>" }
    /// A mirror without content.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a server refused to register or unregister.
public enum RegistrationRefusal: Hashable, Sendable, Codable {
    /// A part of the request is missing or malformed.
    case malformedMessage
    /// The server has the same or a higher version of the installation.
    case versionMismatch
    /// The server does not deliver to that service.
    case unsupportedTokenType
    /// The server had an internal error; a later attempt may succeed.
    case internalError
    /// A code that this client does not know, or 0.
    case unknown(code: Int32)
}

extension RegistrationRefusal: CustomStringConvertible {
    /// A sentence for a user, with a suggestion.
    public var description: String {
        switch self {
        case .malformedMessage:
            """
            The server calls the registration malformed (MALFORMED_MESSAGE). Check that the access token is a UUID, that an APN device \
            token has 64 to 200 hex digits and comes with its topic, and that the installation id has 1 to 128 bytes.
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
        case .unknown(let code):
            "The server refused without a known reason (error \(code))."
        }
    }
}
