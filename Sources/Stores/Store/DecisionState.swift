package import Bytes
import Envelope
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
    /// Each query's keys. Keys that no longer fit into its reply (`ProtocolLimits.maximumAnswerByteCount`) are not looked up.
    package var queries: [[Digest64]] = []
    /// The Status message ids of queries.
    package var queryIDs: Set<Digest32> = []
    /// The credits that the batch's keys, targets and queries have left. The store doesn't read registrations beyond their key's credits,
    /// so a query's response leaves them out.
    package var allowances = Allowances()

    package init() {}

    /// The keys whose rows the decisions lock.
    package var owners: Set<Digest64> { Set(registrations.map(\.keyHash)).union(targets.keys.map(\.keyHash)) }

    /// The installations with more pushes than credits.
    package var rateLimitedTargets: [Installation] {
        pushCounts.filter { $0.value > allowances.pushCount(to: $0.key) }.map(\.key)
    }
}

/// An installation's stored state, as far as its owner's limits depend on it.
package enum StoredInstallationState: Sendable, Equatable {
    /// A registration.
    case live(LiveInstallation)
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

/// The stored state that decisions depend on: what the lookups have found, and then the effects of the decisions. Absent entries are not
/// stored.
package struct DecisionState: Sendable {
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

    /// Returns the state of an installation's key. Counts and bytes leave out the installation itself.
    package func key(beside installation: Installation) -> RegisteringKey {
        var key = RegisteringKey()
        for (other, shape) in installations[installation.keyHash, default: [:]] {
            if shape != .unknownTombstone { key.isKnown = true }
            if case .live(let live) = shape, live.isProven { key.isProven = true }
            guard other != installation else { continue }
            key.rowCount += 1
            if case .live(let live) = shape { key.listByteCount += live.listByteCount }
        }
        key.mayRegister = allowances.mayRegister(installation.keyHash)
        key.isStorageFull = isStorageFull
        return key
    }

    /// Returns the live installations of an installation's key but itself.
    package func live(beside installation: Installation) -> [Installation: LiveInstallation] {
        installations[installation.keyHash, default: [:]].compactMapValues { shape in
            if case .live(let live) = shape { live } else { nil }
        }.filter { $0.key != installation }
    }

    mutating func register(_ registration: Registration) {
        let installation = registration.installation
        forget(installation)
        let version = StoredVersion(
            version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
        versions[installation] = version
        let isProven = if case .live(let live) = installations[installation.keyHash]?[installation] { live.isProven } else { false }
        // No stored registration is newer.
        installations[installation.keyHash, default: [:]][installation] = .live(
            LiveInstallation(
                version: version, registeredAt: Timestamp(nanoseconds: .max), listByteCount: registration.content.listByteCount,
                contactByteCount: registration.content.contactByteCount, isProven: isProven))
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
