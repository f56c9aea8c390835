/// The recipient of a push.
public struct Recipient: Hashable, Sendable {
    /// The person's chat key, or the key of the person's anonymous mode.
    public var person: IdentityKey
    /// The installations to notify, the last active one first: a messenger knows from which one it received the last message. Nil notifies
    /// all known installations, in the order of ``SendingClient/devices(of:refreshes:)``.
    public var installationIDs: [String]?

    /// Creates a recipient, with its installations if they are known.
    public init(_ person: IdentityKey, installationIDs: [String]? = nil) {
        self.person = person
        self.installationIDs = installationIDs
    }
}

/// The result of a push for one device.
public struct DeliveryReport: Hashable, Sendable {
    /// The final state.
    public enum Outcome: Hashable, Sendable {
        /// A server accepted the push, without revealing whether it filters the push, so that a sender learns nothing about the receiver's
        /// settings.
        case accepted(by: IdentityKey)
        /// The last server that replied refused.
        case refused(DeviceReport.Outcome)
        /// No server replied; one may have accepted the push nevertheless.
        case noAnswer
        /// No access token is available: the device is not registered, or only for contacts.
        case unknown
    }

    /// The owner of the device.
    public let person: IdentityKey
    /// The installation id, or nil if no device is known.
    public let installationID: String?
    /// The final state.
    public let outcome: Outcome
}

extension DeliveryReport.Outcome: CustomStringConvertible {
    /// A phrase for a user.
    public var description: String {
        switch self {
        case .accepted(let server): "accepted by \(server.compressedHex)"
        case .refused(let outcome): outcome.description
        case .noAnswer: "no server replied; one may have accepted the push"
        case .unknown: "no access token available: not registered, or for contacts only"
        }
    }
}
