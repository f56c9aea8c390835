/// What a device tells a push server about itself (71/STATUS-PUSH-NOTIFICATION-SERVER).
public struct DeviceRegistration: Sendable {
    /// Who delivers to the device.
    public enum Service: Hashable, Sendable {
        /// Apple's, for the app with that bundle id.
        case apn(topic: String)
        /// Google's.
        case firebase
    }

    /// What the service knows the device by; for Apple's 64 to 200 hex digits.
    public var deviceToken: String
    /// Who delivers.
    public var service: Service
    /// Tells the devices of one identity apart; up to 128 bytes.
    public var installationID: String
    /// The UUID that senders have to show; nil for a new random one.
    public var accessToken: String?
    /// Higher than that of any earlier registration of the installation; nil for the milliseconds since 1970.
    public var version: UInt64?
    /// Whether the device wants to be notified at all.
    public var isEnabled = true
    /// Chats of which the device does not want to hear, and authors, whose ids are their public keys (`0x04…`).
    public var blockedChats: [ChatID] = []
    /// Chats whose messages shall not notify, while mentions do.
    public var mutedChats: [ChatID] = []
    /// Whether mentions shall not notify.
    public var blocksMentions = false
    /// The chats in which mentions notify; a server delivers no mention from another chat.
    public var allowedMentionsChats: [ChatID] = []

    /// Describes a device; everything else has a default.
    public init(deviceToken: String, service: Service, installationID: String) {
        self.deviceToken = deviceToken
        self.service = service
        self.installationID = installationID
    }
}

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
public enum RegistrationRefusal: Hashable, Sendable {
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
            The server calls the registration malformed (MALFORMED_MESSAGE). Check that the access token is a UUID, that an APN device token \
            has 64 to 200 hex digits and comes with its topic, and that the installation id has 1 to 128 bytes.
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
