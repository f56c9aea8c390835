/// What a server confirmed.
public struct RegistrationReceipt: Hashable, Sendable {
    /// The installation that is now registered, or not any more.
    public let installationID: String
    /// The version that it has now; the next one must be higher.
    public let version: UInt64
    /// What senders have to show; nil after unregistering.
    public let accessToken: String?
    /// SHAKE-256 of the request as sent, 128 hex digits: by it the answer was recognised.
    public let requestID: String
}

/// Why a server refused to register or unregister.
public enum RegistrationRefusal: Hashable, Sendable, Codable {
    /// Something in the request is missing or not of the form it must have.
    case malformedMessage
    /// The server knows the same or a higher version of that installation.
    case versionMismatch
    /// The server does not deliver to that service.
    case unsupportedTokenType
    /// The server has trouble; trying again later may help.
    case internalError
    /// A code that this client does not know, or 0.
    case unknown(code: Int32)
}

extension RegistrationRefusal: CustomStringConvertible {
    /// A sentence for a person, with what to try next.
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
            "The server has trouble of its own and stored nothing (INTERNAL_ERROR). Try again in a while."
        case .unknown(let code):
            "The server refused without a known reason (error \(code))."
        }
    }
}
