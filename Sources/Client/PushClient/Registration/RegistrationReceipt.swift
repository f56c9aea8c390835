/// A server's confirmation that it has registered or unregistered a device: for tools, from ``PushServer``.
public struct RegistrationReceipt: Hashable, Sendable {
    /// The installation that was registered or unregistered.
    public let installationID: String
    /// The request's version. The next version must be higher.
    public let version: UInt64
    /// The access token that senders must present, or nil after an unregistration.
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
