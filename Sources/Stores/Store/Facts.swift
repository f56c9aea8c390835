package import Bytes
package import PushProtocol
import StatusCrypto
import Wire

/// The lookups for deciding a batch of messages. The store performs each of them once for the whole batch.
package struct Lookups: Sendable {
    /// The installations that register or unregister.
    package var registrations: Set<Installation> = []
    /// The number of stored bytes above which the storage is full. Nil means that only the disk limits it.
    package var maximumStoredByteCount: Int?
    /// The targets of pushes, with the chats and authors that may be in their lists.
    package var targets: [Installation: Set<[UInt8]>] = [:]
    /// The number of pushes to each installation. If it exceeds the installation's credits, its deferred pushes are looked up too.
    package var pushCounts: [Installation: Int] = [:]
    /// The deduplication keys of pushes that the outbox may contain.
    package var deduplicationKeys: Set<Digest32> = []
    /// The Status message ids of push requests that may have a stored response.
    package var requests: Set<Digest32> = []
    /// Each query's keys. Keys that no longer fit into its reply (`ProtocolLimits.maximumResponseByteCount`) are not looked up.
    package var queries: [[Digest64]] = []
    /// The Status message ids of queries.
    package var queryIDs: Set<Digest32> = []
    /// The credits that the batch's keys, targets and queries have left. The store doesn't read registrations beyond their key's credits,
    /// so a query's response leaves them out.
    package var allowances = Allowances()

    package init() {}

    /// The installations with more pushes than credits.
    package var rateLimitedTargets: [Installation] {
        pushCounts.filter { $0.value > allowances.pushCount(to: $0.key) }.map(\.key)
    }
}

/// An installation's stored state, as far as its owner's limits depend on it.
package enum StoredInstallationState: Sendable, Equatable {
    /// A registration.
    ///
    /// - Parameters:
    ///   - listByteCount: How long its lists are.
    ///   - isProven: Whether Apple or Google has accepted a push for its device token and bundle id.
    case live(listByteCount: Int, isProven: Bool = false)
    case tombstone
    /// A tombstone for an unregistration without an earlier registration.
    case unknownTombstone
}

/// A push in the outbox that waits until its target has a credit.
package struct DeferredPush: Sendable, Equatable {
    /// From this time before it is due, a push is no longer coalesced, because the delivery may have read it.
    package static let closingTime = Duration.seconds(1)

    package var row: Int64
    package var content: PushContent

    package init(row: Int64, content: PushContent) {
        self.row = row
        self.content = content
    }
}

/// What the lookups have found. Absent entries are not stored.
package struct Facts: Sendable {
    package let lookups: Lookups
    /// Each installation's stored version, tombstones included. The next version must exceed it.
    package var versions: [Installation: StoredVersion] = [:]
    /// All installations of the keys that register or unregister.
    package var installations: [Digest64: [Installation: StoredInstallationState]] = [:]
    /// Whether the storage is full. Looked up for registrations only.
    package var isStorageFull = false
    /// The targets' live registrations.
    package var targets: [Installation: PushTarget] = [:]
    /// The deduplication keys of pushes that entered the outbox less than `ProtocolLimits.deduplicationLifetime` ago.
    package var recentDeduplicationKeys: Set<Digest32> = []
    /// The pushes that wait for a credit, of targets without credits.
    package var deferredPushes: [PushSlot: DeferredPush] = [:]
    /// The newest responses' payloads, by their requests' Status message ids.
    package var responses: [Digest32: [UInt8]] = [:]
    /// The remaining credits.
    package internal(set) var allowances: Allowances
    /// Each queried key's live registrations, unordered. Keys beyond the response's capacity are missing, and so are registrations beyond
    /// the key's credits.
    package var queryable: [Digest64: [QueryableRegistration]] = [:]

    package init(answering lookups: Lookups = Lookups()) {
        self.lookups = lookups
        allowances = lookups.allowances
    }

    /// Returns the facts about an installation's key. Counts and bytes leave out the installation itself.
    package func key(beside installation: Installation) -> RegisteringKey {
        var key = RegisteringKey()
        for (other, shape) in installations[installation.keyHash, default: [:]] {
            if shape != .unknownTombstone { key.isKnown = true }
            if case .live(_, isProven: true) = shape { key.isProven = true }
            guard other != installation else { continue }
            key.rowCount += 1
            guard case .live(let listByteCount, _) = shape else { continue }
            key.liveInstallationCount += 1
            key.listByteCount += listByteCount
        }
        key.mayRegister = allowances.mayRegister(installation.keyHash)
        key.isStorageFull = isStorageFull
        return key
    }

    mutating func register(_ registration: Registration) {
        let installation = registration.installation
        forget(installation)
        versions[installation] = StoredVersion(
            version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
        let isProven = if case .live(_, isProven: true) = installations[installation.keyHash]?[installation] { true } else { false }
        installations[installation.keyHash, default: [:]][installation] = .live(
            listByteCount: registration.content.listByteCount, isProven: isProven)
        targets[installation] = lookups.targets[installation].map { PushTarget(registration.content, asking: $0) }
        queryable[installation.keyHash]?.append(QueryableRegistration(registration.content))
    }

    mutating func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32) {
        forget(installation)
        deferredPushes = deferredPushes.filter { $0.key.target != installation }
        let earlier = installations[installation.keyHash]?[installation] ?? .unknownTombstone
        installations[installation.keyHash, default: [:]][installation] = earlier == .unknownTombstone ? earlier : .tombstone
        versions[installation] = StoredVersion(version: version, plaintextDigest: plaintextDigest, isRegistered: false)
    }

    /// Coalesces a push with the deferred push that has its target and type.
    ///
    /// - Returns: The coalesced push, or nil if no push waits.
    mutating func coalesce(_ push: AcceptedPush) -> DeferredPush? {
        guard var deferred = deferredPushes[push.slot] else { return nil }
        deferred.content = deferred.content.coalesced(with: push.content)
        deferredPushes[push.slot] = deferred
        return deferred
    }

    private mutating func forget(_ installation: Installation) {
        targets[installation] = nil
        queryable[installation.keyHash]?.removeAll { $0.installationID.utf8.elementsEqual(installation.installationID.utf8) }
    }
}
