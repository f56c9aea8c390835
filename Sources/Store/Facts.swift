package import PushProtocol
package import StatusCrypto
import Wire

/// What has to be known to decide a batch of messages. Each thing is looked up once, however many of them ask for it.
package struct Questions: Sendable {
    /// Installations that register or leave.
    package var registrations: Set<Installation> = []
    /// What may be stored before it counts as full, in bytes; nil: as much as the disk holds.
    package var maximumStoredByteCount: Int?
    /// Installations that pushes are for, and the chats and authors that may stand in their lists.
    package var targets: [Installation: Set<[UInt8]>] = [:]
    /// How many pushes each installation may get: where that is more than its credits, what waits for one is looked up.
    package var pushCounts: [Installation: Int] = [:]
    /// Pushes that may be in the outbox already.
    package var deduplicationKeys: Set<Digest32> = []
    /// Status message ids of push requests, which may have been answered before.
    package var requests: Set<Digest32> = []
    /// The keys of each query. Keys for which its reply has no capacity (`ProtocolLimits.maximumAnswerByteCount`) are not looked up.
    package var queries: [[Digest64]] = []
    /// Status message ids of queries.
    package var queryIDs: Set<Digest32> = []
    /// What may still be done of all that is asked about. Of a key's registrations, those are not read whose lists nobody may be told.
    package var allowances = Allowances()

    package init() {}

    /// Installations with more pushes than credits.
    package var crowdedTargets: [Installation] {
        pushCounts.filter { $0.value > allowances.pushCount(to: $0.key) }.map(\.key)
    }
}

/// What is stored of an installation, as far as its owner's limits go.
package enum StoredShape: Sendable, Equatable {
    /// With the bytes of its lists.
    case live(listByteCount: Int)
    /// A tombstone.
    case left
    /// The tombstone of what unregistered and had never been registered.
    case neverRegistered
}

/// A push in the outbox that waits for a credit of its target.
package struct HeldPush: Sendable, Equatable {
    /// How long before it is due it takes nothing more in: the delivery may have read it by then.
    package static let closingTime = Duration.seconds(1)

    package var row: Int64
    package var content: PushContent

    package init(row: Int64, content: PushContent) {
        self.row = row
        self.content = content
    }
}

/// What is known of what was asked; what is missing is not there.
package struct Facts: Sendable {
    package let questions: Questions
    /// What the next version of an installation has to exceed; tombstones too.
    package var versions: [Installation: StoredVersion] = [:]
    /// All installations of the keys of those that register or leave.
    package var installations: [Digest64: [Installation: StoredShape]] = [:]
    /// Whether as much is stored as may be. Asked for registrations only.
    package var isStorageFull = false
    /// Live registrations.
    package var targets: [Installation: PushTarget] = [:]
    /// Deduplication keys of pushes that entered the outbox less than `ProtocolLimits.deduplicationLifetime` ago.
    package var recentDeduplicationKeys: Set<Digest32> = []
    /// Pushes that wait for a credit of their target, of those that have none left.
    package var heldPushes: [PushSlot: HeldPush] = [:]
    /// Payloads of the newest responses, by the Status message ids of their requests.
    package var responses: [Digest32: [UInt8]] = [:]
    /// What may still be done.
    package internal(set) var allowances: Allowances
    /// What queries are told of the live registrations of a key, in no order. Keys that no answer has room for are missing, and
    /// registrations that nobody may be told of now.
    package var queryable: [Digest64: [QueryableRegistration]] = [:]

    package init(answering questions: Questions = Questions()) {
        self.questions = questions
        allowances = questions.allowances
    }

    /// What is stored under the key of an installation beside it.
    package func key(beside installation: Installation) -> RegisteringKey {
        var key = RegisteringKey()
        for (other, shape) in installations[installation.keyHash, default: [:]] {
            if shape != .neverRegistered { key.isKnown = true }
            guard other != installation else { continue }
            key.rowCount += 1
            guard case .live(let listByteCount) = shape else { continue }
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
        installations[installation.keyHash, default: [:]][installation] = .live(listByteCount: registration.content.listByteCount)
        targets[installation] = questions.targets[installation].map { PushTarget(registration.content, asking: $0) }
        queryable[installation.keyHash]?.append(QueryableRegistration(registration.content))
    }

    mutating func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32) {
        forget(installation)
        heldPushes = heldPushes.filter { $0.key.target != installation }
        let earlier = installations[installation.keyHash]?[installation] ?? .neverRegistered
        installations[installation.keyHash, default: [:]][installation] = earlier == .neverRegistered ? earlier : .left
        versions[installation] = StoredVersion(version: version, plaintextDigest: plaintextDigest, isRegistered: false)
    }

    /// A push becomes one with what its slot holds.
    ///
    /// - Returns: nil if that holds nothing.
    mutating func coalesce(_ push: AcceptedPush) -> HeldPush? {
        guard var held = heldPushes[push.slot] else { return nil }
        held.content = held.content.coalesced(with: push.content)
        heldPushes[push.slot] = held
        return held
    }

    private mutating func forget(_ installation: Installation) {
        targets[installation] = nil
        queryable[installation.keyHash]?.removeAll { $0.installationID.utf8.elementsEqual(installation.installationID.utf8) }
    }
}
