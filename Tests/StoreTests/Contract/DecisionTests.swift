import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Lookups, state, decisions, and their writes.
@Suite(.safetyNet)
struct DecisionTests {
    @Test(arguments: StoreUnderTest.all)
    func `the state of unknown keys and requests is missing`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let state = try await store.state { lookups in
                lookups.registrations = [installation()]
                lookups.targets = [installation(): listEntries]
                lookups.deduplicationKeys = [hash(1)]
                lookups.requests = [hash(1)]
                lookups.queries = [[hash(1)]]
            }
            #expect(state.versions == [:] && state.targets == [:] && state.recentDeduplicationKeys == [] && state.responses == [:])
            #expect(state.live(beside: installation(2)).count == 0)
            #expect(state.queryable == [hash(1): []])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `each message of a batch sees the effects of earlier ones`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var asked = Lookups()
            asked.registrations = [installation(1), installation(2)]
            asked.targets = [installation(1): [[4], [5]], installation(2): [[4]]]
            asked.queries = [[hash(1)]]
            let lookups = asked
            let committed = await store.commit([1, 2, 3, 4], at: start) { _ in
                lookups
            } deciding: { step, batch -> DecisionState in
                switch step {
                case 1: batch.register(registration(version: 1), topics: topics)
                case 2: batch.register(registration(version: 2), topics: topics)
                case 3: batch.register(registration(installation(2)), topics: topics)
                default: batch.unregister(installation(2), version: 2, plaintextDigest: hash(2), topics: topics)
                }
                return batch.state
            }
            let seen = try committed.outcomes.map { try $0.get() }
            #expect(seen.map { $0.versions[installation(1)]?.version } == [1, 2, 2, 2])
            #expect(seen.map { $0.versions[installation(2)]?.isRegistered } == [nil, nil, true, false])
            #expect(seen.map { $0.targets[installation(1)]?.accessToken } == [1, 2, 2, 2].map { "access token \($0)" })
            #expect(seen.map { $0.targets[installation(2)] == nil } == [true, true, false, true])
            #expect(seen.map { $0.queryable[hash(1)]?.count } == [1, 1, 2, 1])
            #expect(seen.map { $0.live(beside: installation(2)).count } == [1, 1, 1, 1])
            #expect(seen.map { $0.live(beside: installation(1)).count } == [0, 0, 1, 0])
            // The commit reports only the last of several changes of a registration.
            let live = try await store.reduceLiveTopics(into: []) { $0.append(ChangedRegistration(registration: $1, topics: $2)) }
            #expect(live.count == 1 && committed.topicChanges == live.map { .added($0) })
            let stored = try await store.state { $0 = lookups }
            #expect(stored.versions == seen[3].versions)
            // A registration of the batch counts as the newest, whenever it is stored.
            let newest = Timestamp(nanoseconds: .max)
            func undated(_ state: DecisionState) -> DecisionState {
                var state = state
                for target in state.targets.keys { state.targets[target]?.registeredAt = newest }
                for key in state.queryable.keys {
                    state.queryable[key] = state.queryable[key]?.map { registration in
                        var registration = registration
                        registration.registeredAt = newest
                        return registration
                    }
                }
                return state
            }
            #expect(undated(stored).targets == seen[3].targets && undated(stored).queryable == seen[3].queryable)
            #expect(stored.targets[installation(1)]?.registeredAt == start && stored.queryable[hash(1)]?.map(\.registeredAt) == [start])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a reply and a push are visible to the next message of the batch`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let message = try await store.record(1)
            try await store.apply(at: start) { batch in
                batch.decide(message, as: .answered(reply(1, status: hash(7))))
                batch.enqueue(push(3), message: message)
                #expect(batch.state.responses[hash(7)] == reply(1).payload)
                #expect(batch.state.recentDeduplicationKeys == [hash(3)])
            }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an installation can register and unregister in one batch`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            let changes = try await store.apply(at: start) { batch in
                batch.unregister(installation(1), version: 2, plaintextDigest: hash(2), topics: topics)
                batch.register(registration(installation(1), version: 3), topics: topics)
                batch.register(registration(installation(2), version: 1), topics: topics)
                batch.unregister(installation(2), version: 2, plaintextDigest: hash(2), topics: topics)
            }
            #expect(changes == [.added(ChangedRegistration(registration: 1, topics: topics))])
            #expect(try await store.version(of: installation(1))?.version == 3)
            #expect(
                try await store.version(of: installation(2))
                    == StoredVersion(version: 2, plaintextDigest: hash(2), isRegistered: false))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a message that cannot be written does not fail the others of the batch`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...9 { _ = try await store.record(number) }
            try await store.decide([4, 5], as: .silent)
            // Each message also registers an installation, and sees the earlier ones.
            let committed = await store.commit(Array(1...9), at: start) { numbers in
                var lookups = Lookups()
                lookups.registrations = Set(numbers.map { installation($0) })
                return lookups
            } deciding: { number, batch -> Int in
                batch.decide(Int64(number), as: .silent)
                batch.register(registration(installation(number)), topics: topics)
                return batch.state.live(beside: installation(number)).count
            }
            let outcomes = committed.outcomes.map { try? $0.get() }
            #expect(outcomes == [0, 1, 2, nil, nil, 3, 4, 5, 6])
            #expect(throws: StoreError.alreadyDecided) { try committed.outcomes[3].get() }
            #expect(committed.topicChanges.count == 7)
            #expect(try await store.registrationCount() == 7)
            #expect(try await store.unfinishedRows().undecided.count == 0)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a failed decision counts nothing in the ledger`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let message = try await store.record(1)
            try await store.decide([message], as: .silent)
            let before = try await store.auditFacts()
            await #expect(throws: StoreError.alreadyDecided) {
                try await store.apply(at: start) { batch in
                    batch.enqueue(push(20), message: message)
                    batch.count(merged: 2, filtered: 3)
                    batch.decide(message, as: .silent)
                }
            }
            #expect(try await store.auditFacts() == before)
            let other = try await store.record(2)
            try await store.apply(at: start) { batch in
                batch.enqueue(push(20), message: other)
                batch.count(merged: 2, filtered: 3)
                batch.decide(other, as: .silent)
            }
            #expect(try await store.queuedPushCount() == 1)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the newest response to a push request is found by its Status message id`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...4 { _ = try await store.record(number) }
            try await store.apply(at: start) { batch in
                batch.decide(1, as: .answered(reply(1)))
                batch.decide(2, as: .answered(reply(2)))
                batch.decide(3, as: .answered(reply(3, type: .pushNotificationQueryResponse)))
                batch.decide(4, as: .answered(reply(4, status: hash(8))))
            }
            let expected: [Digest32: [UInt8]] = [hash(7): reply(2).payload, hash(8): reply(4).payload]
            #expect(try await store.state { $0.requests = [hash(7), hash(8), hash(9)] }.responses == expected)
            try await store.apply(at: start) { $0.markPublished([2]) }
            #expect(try await store.state { $0.requests = [hash(7), hash(8), hash(9)] }.responses == expected)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `keys of a query beyond the capacity of its two responses are not looked up`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for key in 1...6 {
                var large = registration(installation(key, key: key))
                large.content.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 1_000), count: 500)
                try await store.register(large)
            }
            let keys = (1...6).map { hash($0) as Digest64 }
            #expect(Set(try await store.state { $0.queries = [keys] }.queryable.keys) == Set(keys[0...3]))
            // Another query has its own responses.
            let state = try await store.state { $0.queries = [keys, [keys[1], keys[4]], [keys[5]]] }
            #expect(Set(state.queryable.keys) == Set(keys))
        }
    }

    /// Sixteen registrations of 7.8 MB once took the writer a second for each query, even for a small response.
    @Test(arguments: StoreUnderTest.all)
    func `lists beyond the credits of their key are not read`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...3 {
                var large = registration(installation(number))
                large.content.allowedKeyList = number == 2 ? [] : [[UInt8](repeating: 1, count: 100_000)]
                try await store.register(large)
            }
            func installations(spending byteCount: Int) async throws -> [String] {
                let state = try await store.state { lookups in
                    lookups.queries = [[hash(1)]]
                    lookups.allowances.spend(.response(message: 1, query: hash(1), digest: 0, byteCounts: [hash(1): byteCount]))
                }
                return state.queryable[hash(1), default: []].map(\.installationID).sorted()
            }
            let all = [1, 2, 3].map { installation($0).installationID }
            #expect(try await installations(spending: 0) == all)
            #expect(try await installations(spending: ProtocolLimits.responseByteCapacity / 2) == all)
            #expect(try await installations(spending: ProtocolLimits.responseByteCapacity) == [all[1]])
        }
    }
}
