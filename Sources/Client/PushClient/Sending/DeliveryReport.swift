/// A person to notify, perhaps on certain devices only.
public struct Recipient: Hashable, Sendable, Codable {
    /// The owner's chat key, or the owner's key for anonymous mode.
    public var owner: PublicKey
    /// The installations to notify, the last active first: a messenger knows which installation sent the last message. Nil notifies all
    /// known installations, in the order of ``SendingClient/devices(of:refreshes:)``.
    public var installationIDs: [String]?

    /// Creates a recipient, with its installations if they are known.
    public init(_ owner: PublicKey, installationIDs: [String]? = nil) {
        self.owner = owner
        self.installationIDs = installationIDs
    }
}

/// The result of a push for a recipient's device, after retries and attempts with other servers: for apps, from ``SendingClient``.
public struct DeliveryReport: Hashable, Sendable {
    /// The final state. Later versions may add states.
    public struct Outcome: Hashable, Sendable {
        private let name: String
        /// Which server accepted the push, or nil if none did.
        public private(set) var server: PublicKey?
        /// Why the last server that replied rejected the push, or nil for other outcomes.
        public private(set) var rejection: DeviceReport.Outcome?

        /// Why the recipient could not be looked up, or the push not be sent, or nil for other outcomes.
        public private(set) var error: PushClientError?

        /// Whether a server accepted the push.
        public var isAccepted: Bool { server != nil }

        /// A server accepted the push, without revealing whether it filters the push, so that a sender learns nothing about the receiver's
        /// settings.
        public static func accepted(by server: PublicKey) -> Outcome { Outcome(name: "accepted", server: server) }
        /// The last server that replied rejected the push.
        public static func rejected(_ rejection: DeviceReport.Outcome) -> Outcome { Outcome(name: "rejected", rejection: rejection) }
        /// No server replied. The push may have been accepted nevertheless.
        public static let noReply = Outcome(name: "no server replied; one may have accepted the push")
        /// No access token is available: the device is not registered, or only for contacts.
        public static let unknown = Outcome(name: "no access token available: not registered, or for contacts only")
        /// The push could not be sent. The client keeps it, and ``SendingClient/run()`` sends it later.
        public static let kept = Outcome(name: "kept, to be sent when the node works")
        /// The push could not be sent to any device of these recipients, while others were notified. Ask for it again when the node works.
        public static func notSent(_ error: PushClientError) -> Outcome {
            Outcome(name: "the push could not be sent: \(error)", error: error)
        }
        /// The recipient's devices are not known, and could not be looked up. Ask for the push again when the node works.
        public static func lookupFailed(_ error: PushClientError) -> Outcome {
            Outcome(name: "the recipient's devices could not be looked up: \(error)", error: error)
        }
    }

    /// The device's owner.
    public let owner: PublicKey
    /// The installation id, or nil if no device is known.
    public let installationID: String?
    /// The final state.
    public let outcome: Outcome
    /// Whether the push was accepted although its ciphertext is longer than ``PushMessage/maximumWholeByteCount``: a server leaves such a
    /// ciphertext out, and the device gets a push that only wakes the app.
    public internal(set) var isWakeUpOnly = false
    /// The time until the owner is looked up again, if ``Outcome/unknown`` is what an earlier lookup has found. A device that registers
    /// meanwhile gets no push before. Nil if the owner was looked up for this push, and for other outcomes.
    public internal(set) var nextLookup: Duration?

    init(owner: PublicKey, installationID: String?, outcome: Outcome) {
        self.owner = owner
        self.installationID = installationID
        self.outcome = outcome
    }
}

extension DeliveryReport: CustomStringConvertible {
    /// A sentence for a user or a log: the device, the outcome, and what to know about it.
    public var description: String {
        var text = "\(installationID.map { "\($0) of " } ?? "")\(owner.compressedHex): \(outcome)"
        if isWakeUpOnly {
            text += "; only a wake-up arrives, because the ciphertext is longer than \(PushMessage.maximumWholeByteCount) bytes"
        }
        if let nextLookup { text += "; found earlier, and looked up again in \(nextLookup.formattedSeconds)" }
        return text
    }
}

extension DeliveryReport.Outcome: CustomStringConvertible {
    /// A phrase for a user.
    public var description: String { server.map { "accepted by \($0.compressedHex)" } ?? rejection?.description ?? name }
}
