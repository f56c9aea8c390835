import Bytes
import Envelope
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Rows that a server imports from another one.
@Suite(.safetyNet)
struct ImportTests {
    @Test func `an imported registration is that of its client, and its device counts as proven`() async throws {
        try await withSQLiteStore { store in
            let registration = registration()
            try await store.importInstallations([.live(registration)], at: start)
            let state = try await store.state {
                $0.registrations = [installation()]
                $0.targets = [installation(): listEntries]
                $0.queries = [[installation().keyHash]]
            }
            #expect(
                state.versions[installation()]
                    == StoredVersion(version: 1, plaintextDigest: registration.plaintextDigest, isRegistered: true))
            #expect(state.targets[installation()]?.content == PushTarget(registration.content))
            #expect(state.queryable[installation().keyHash]?.content == [QueryableRegistration(registration.content)])
            #expect(state.key(beside: installation(2)).isProven)
            let topics = try await store.reduceLiveTopics(into: [QueryTopics]()) { $0.append($2) }
            #expect(topics == [QueryTopics(keyHash: installation().keyHash)])
        }
    }

    @Test func `all imported tombstones of a key stay, together with live installations`() async throws {
        try await withSQLiteStore { store in
            let count = ProtocolLimits.maximumUnknownTombstonesPerKey + 4
            let tombstones = (1...count).map {
                ImportedInstallation.tombstone(installation($0), version: UInt64($0), plaintextDigest: hash($0))
            }
            try await store.importInstallations(tombstones + [.live(registration(installation(100)))], at: start)
            // A new client's tombstones exceed the limit.
            for number in 1...count { try await store.unregister(installation(200 + number), version: 1) }
            let all = Set((1...count).map { installation($0) })
            let state = try await store.state { $0.registrations = all }
            for number in 1...count {
                #expect(
                    state.versions[installation(number)]
                        == StoredVersion(version: UInt64(number), plaintextDigest: hash(number), isRegistered: false))
            }
            #expect(try await store.registrationCount() == 1)
            let topics = try await store.reduceLiveTopics(into: 0) { count, _, _ in count += 1 }
            #expect(topics == 1)
        }
    }

    @Test func `handled requests have a response without reports for 48 hours, and the ledger balances`() async throws {
        try await withSQLiteStore { store in
            #expect(try await store.importHandledRequests([hash(1), hash(2), hash(1)], at: start) == 2)
            #expect(try await store.importHandledRequests([hash(2), hash(3)], at: start) == 1)
            let requests: Set<Digest32> = [hash(1), hash(2), hash(3), hash(4)]
            let state = try await store.state { $0.requests = requests }
            #expect(state.responses == [hash(1): [], hash(2): [], hash(3): []])
            let unfinished = try await store.unfinishedRows()
            #expect(unfinished.undecided.isEmpty && unfinished.unreplied.isEmpty)
            #expect(Audit(try await store.auditFacts()).balances)
            let due = start.advanced(by: ProtocolLimits.decidedMessageLifetime + .nanoseconds(1))
            // The newest row always stays.
            #expect(try await store.prune(at: due).messageCount == 2)
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }
}
