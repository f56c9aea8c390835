package import PushProtocol
package import StatusCrypto
import Wire

/// What has to be known to decide a batch of messages. Each thing is looked up once, however many of them ask for it.
package struct Questions: Sendable {
    /// Installations that register or leave.
    package var registrations: Set<Installation> = []
    /// Installations that pushes are for, and the chats and authors that may stand in their lists.
    package var targets: [Installation: Set<[UInt8]>] = [:]
    /// Pushes that may be in the outbox already.
    package var triples: Set<Digest32> = []
    /// Status message ids of push requests, which may have been answered before.
    package var requests: Set<Digest32> = []
    /// The keys that each query asks for. Those that its answer has no room for (`Limits.maximumAnswerByteCount`) are not looked up.
    package var queries: [[Digest64]] = []
    /// Status message ids of queries.
    package var queryIDs: Set<Digest32> = []
    /// What may still be done of all that is asked about. Of a key's registrations, those are not read whose lists nobody may be told.
    package var allowances = Allowances()

    package init() {}
}

/// What is known of what was asked; what is missing is not there.
package struct Facts: Sendable {
    package let questions: Questions
    /// What the next version of an installation has to exceed; tombstones too.
    package var versions: [Installation: StoredVersion] = [:]
    /// Registered installations of the keys of those that register or leave, and the bytes of their lists.
    package var liveInstallations: [Digest64: [Installation: Int]] = [:]
    /// Live registrations.
    package var targets: [Installation: PushTarget] = [:]
    /// Triples of pushes that entered the outbox less than `Limits.tripleLifetime` ago.
    package var recentTriples: Set<Digest32> = []
    /// Payloads of the newest responses, by the Status message ids of their requests.
    package var responses: [Digest32: [UInt8]] = [:]
    /// What queries are told of the live registrations of a key, in no order. Keys that no answer has room for are missing, and
    /// registrations that nobody may be told of now.
    package var queryable: [Digest64: [QueryableRegistration]] = [:]

    package init(answering questions: Questions = Questions()) {
        self.questions = questions
    }

    /// What is stored under the key of an installation beside it.
    package func key(beside installation: Installation) -> RegisteringKey {
        var others = liveInstallations[installation.keyHash, default: [:]]
        others[installation] = nil
        return RegisteringKey(liveInstallationCount: others.count, listByteCount: others.values.reduce(0, +))
    }

    mutating func register(_ registration: Registration) {
        let installation = registration.installation
        forget(installation)
        versions[installation] = StoredVersion(
            version: registration.content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true)
        liveInstallations[installation.keyHash, default: [:]][installation] = registration.content.listByteCount
        targets[installation] = questions.targets[installation].map { PushTarget(registration.content, asking: $0) }
        queryable[installation.keyHash]?.append(QueryableRegistration(registration.content))
    }

    mutating func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32) {
        forget(installation)
        versions[installation] = StoredVersion(version: version, plaintextDigest: plaintextDigest, isRegistered: false)
    }

    private mutating func forget(_ installation: Installation) {
        liveInstallations[installation.keyHash]?[installation] = nil
        targets[installation] = nil
        queryable[installation.keyHash]?.removeAll { $0.installationID.utf8.elementsEqual(installation.installationID.utf8) }
    }
}
