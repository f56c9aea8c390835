/// One server's report about a push for one device: for tools, from ``PushServer``, which asks once.
public struct DeviceReport: Hashable, Sendable {
    /// The report: an error code of the protocol, or success.
    public struct Outcome: Hashable, Sendable {
        /// The code (PROTOCOL.md §6), or nil if the server accepted the push. A server may send one that this client does not know, or 0.
        public let errorCode: Int32?

        package init(errorCode: Int32?) {
            self.errorCode = errorCode
        }

        /// The server accepted the push, without revealing whether it filters the push, so that a sender learns nothing about the
        /// receiver's settings.
        public static let accepted = Outcome(errorCode: nil)
        /// The access token is not the device's, or is no longer valid.
        public static let wrongToken = Outcome(errorCode: 1)
        /// The server had an internal error.
        public static let internalError = Outcome(errorCode: 2)
        /// The server does not know the device.
        public static let notRegistered = Outcome(errorCode: 3)
    }

    /// The hash of the owner's key, 128 hex digits, as the server gave it.
    public let keyHash: String
    /// The installation id of the device.
    public let installationID: String
    /// The server's report.
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
