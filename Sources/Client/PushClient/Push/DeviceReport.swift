/// A server's report about a push for a device. It is for tools, and comes from ``PushServer``, which tries only once.
public struct DeviceReport: Hashable, Sendable {
    /// The report: success, or an error code from the protocol.
    public struct Outcome: Hashable, Sendable {
        /// The code (PROTOCOL.md §6), or nil if the server accepted the push. A server may send 0, or a code that this client does not
        /// know.
        public let errorCode: Int32?

        package init(errorCode: Int32?) {
            self.errorCode = errorCode
        }

        /// Accepted by the server. Whether it then filters the push stays secret, so that a sender learns nothing about the receiver's
        /// settings.
        public static let accepted = Outcome(errorCode: nil)
        /// The access token is not the device's, or is no longer valid.
        public static let wrongToken = Outcome(errorCode: 1)
        /// An internal error occurred at the server.
        public static let internalError = Outcome(errorCode: 2)
        /// No such device is registered with the server.
        public static let notRegistered = Outcome(errorCode: 3)
    }

    /// The hash of the owner's key, 128 hex digits, as the server gave it.
    public let keyHash: String
    /// The device's installation id.
    public let installationID: String
    /// What the server reported.
    public let outcome: Outcome

    package init(keyHash: String, installationID: String, outcome: Outcome) {
        self.keyHash = keyHash
        self.installationID = installationID
        self.outcome = outcome
    }
}

extension DeviceReport.Outcome: CustomStringConvertible {
    /// A phrase for a user, with a suggestion.
    public var description: String {
        switch self {
        case .accepted: "accepted"
        case .wrongToken: "wrong access token (WRONG_TOKEN); query the current one"
        case .internalError: "internal error of the server (INTERNAL_ERROR); retry later"
        case .notRegistered: "not registered at this server (NOT_REGISTERED)"
        default: "rejected without a known reason (error \(errorCode ?? 0))"
        }
    }
}
