/// Whom to notify.
public struct Recipient: Hashable, Sendable {
    /// The person's chat key, or the key that the person registers with in anonymous mode.
    public var person: IdentityKey
    /// The devices that the message is for, the one that was active last first: a messenger knows from which of them it heard last. Nil for
    /// all that are known, in the order of ``SendingClient/devices(of:refreshes:)``.
    public var installationIDs: [String]?

    /// Names a person, and the devices if they are known.
    public init(_ person: IdentityKey, installationIDs: [String]? = nil) {
        self.person = person
        self.installationIDs = installationIDs
    }
}

/// What became of a push for one device.
public struct DeliveryReport: Hashable, Sendable {
    /// What is known in the end.
    public enum Outcome: Hashable, Sendable {
        /// A server took it. Whether it filters the push is not told, so that a sender learns nothing of the receiver's wishes.
        case accepted(by: IdentityKey)
        /// The last server that answered refused.
        case refused(DeviceReport.Outcome)
        /// No server answered; one may have taken it all the same.
        case noAnswer
        /// No access token is to be had: the device is registered nowhere (any more), or for contacts only.
        case unknown
    }

    /// Whose device it is.
    public let person: IdentityKey
    /// Which of the person's devices; nil if none is known.
    public let installationID: String?
    /// What is known in the end.
    public let outcome: Outcome
}

extension DeliveryReport.Outcome: CustomStringConvertible {
    /// A phrase for a person.
    public var description: String {
        switch self {
        case .accepted(let server): "accepted by \(server.compressedHex)"
        case .refused(let outcome): outcome.description
        case .noAnswer: "no server answered; one may have taken it all the same"
        case .unknown: "no access token is to be had: registered nowhere, or for contacts only"
        }
    }
}
