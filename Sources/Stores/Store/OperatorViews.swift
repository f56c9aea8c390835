package import Bytes
package import Envelope
package import PushProtocol
package import StatusCrypto
package import Wire

/// The store as an operator's tools see it, without secrets.
package protocol OperatorViews: Sendable {
    /// Returns how far the push with this deduplication key has got, or nil if it was never accepted or is pruned.
    func progress(ofPush deduplicationKey: Digest32) async throws -> PushProgress?

    /// Returns the pushes to an installation, oldest first. Steps through all pushes, so it is for tools only.
    func tracePushes(to target: Installation) async throws -> [TracedPush]

    /// Returns the push requests with an id, oldest first. Steps through all messages, so it is for tools only.
    ///
    /// - Parameter id: The message id in the request, the request's Status message id, or its Waku message's hash.
    func traceRequests(_ id: [UInt8]) async throws -> [TracedRequest]

    /// Reads the facts for an ``Audit``. Steps through all messages and pushes, so it is for tools only.
    ///
    /// - Parameter report: Receives how many rows are read so far, and how many there are in all.
    func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts

    /// Reads the figures for metrics. Steps through open pushes, unfinished messages and live registrations, not through finished rows.
    func figures() async throws -> StoreFigures

    /// Counts the registrations. Steps through all of them, so it is for tools only.
    ///
    /// - Parameter start: The time since which counted installations have registered, renewed or unregistered. Nil counts all.
    func registrationCounts(since start: Timestamp?) async throws -> RegistrationCounts

    /// Returns a key's registrations and tombstones, by installation id.
    func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary]

    /// Returns the registrations that were removed for dead device tokens and can be restored, newest first.
    func deadRegistrations(limit: Int) async throws -> [DeadRegistration]

    /// Restores registrations that were removed for dead tokens, unless their owners have registered or unregistered since.
    ///
    /// - Parameter ids: The registrations. Nil means all.
    /// - Returns: The restored registrations.
    func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration]

    /// Deletes what is stored about an owner's key. Its registrations become tombstones, its open pushes are withdrawn, and its name is
    /// erased from earlier pushes and replies.
    ///
    /// For a tool while no server runs, because a server would continue with the data in its memory.
    func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten
}

extension OperatorViews {
    /// Counts all registrations.
    package func registrationCounts() async throws -> RegistrationCounts { try await registrationCounts(since: nil) }

    /// Reads the facts for an ``Audit``.
    package func auditFacts() async throws -> AuditFacts { try await auditFacts { _, _ in } }
}

/// How many rows were changed when a key was forgotten.
package struct Forgotten: Sendable, Equatable {
    package var registrationCount = 0
    /// The number of tombstones that stay, because their versions stop replays of old registrations.
    package var tombstoneCount = 0
    package var pushCount = 0
    package var deadRegistrationCount = 0
    /// The number of erased replies to the key's messages.
    package var replyCount = 0

    package init() {}
}

/// The number of registrations by kind.
package struct RegistrationCounts: Sendable, Equatable {
    package var live: [TokenType: Int]
    /// Tombstones of unregistered installations.
    package var tombstones: Int
    /// The Nextcloud push proxy's devices.
    package var nextcloud: Int
    /// The Nextcloud origin's devices.
    package var nextcloudOrigin: Int

    package init(live: [TokenType: Int] = [:], tombstones: Int = 0, nextcloud: Int = 0, nextcloudOrigin: Int = 0) {
        self.live = live
        self.tombstones = tombstones
        self.nextcloud = nextcloud
        self.nextcloudOrigin = nextcloudOrigin
    }
}

/// A registration for operators, without its device token and lists.
package struct RegistrationSummary: Sendable, Equatable {
    package var installationID: String
    package var version: UInt64
    package var isLive: Bool
    package var updatedAt: Timestamp
    /// The token type. This and the properties below have a meaning for live registrations only.
    package var tokenType: TokenType
    package var apnTopic: String
    package var isEnabled: Bool

    package init(
        installationID: String, version: UInt64, isLive: Bool, updatedAt: Timestamp, tokenType: TokenType, apnTopic: String, isEnabled: Bool
    ) {
        self.installationID = installationID
        self.version = version
        self.isLive = isLive
        self.updatedAt = updatedAt
        self.tokenType = tokenType
        self.apnTopic = apnTopic
        self.isEnabled = isEnabled
    }
}

/// A registration that was unregistered because its device token was dead, without the token, which is a secret.
package struct DeadRegistration: Sendable, Equatable {
    /// How long the store keeps copies of dead registrations, and suspicions against device tokens, so that an operator can restore copies
    /// after a weekend.
    package static let lifetime = Duration.seconds(7 * 24 * 3_600)

    package var id: Int64
    package var diedAt: Timestamp
    package var reason: String
    package var route: String
    package var installation: Installation
    package var version: UInt64

    package init(id: Int64, diedAt: Timestamp, reason: String, route: String, installation: Installation, version: UInt64) {
        self.id = id
        self.diedAt = diedAt
        self.reason = reason
        self.route = route
        self.installation = installation
        self.version = version
    }
}
