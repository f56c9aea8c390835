import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Pushes that wait for a credit of their target, or for gorush, and their outcomes when their device unregisters.
@Suite(.safetyNet)
struct WaitingPushTests {
    private let due = start.advanced(by: .seconds(5))

    /// Returns a push to a device with its registration's values.
    private func push(_ number: Int, type: PushNotificationType = .message, version: UInt64 = 1) -> AcceptedPush {
        let registration = registration(version: version).content
        return AcceptedPush(
            target: installation(), deduplicationKey: hash(number), tokenType: .apn, deviceToken: registration.deviceToken,
            apnTopic: registration.apnTopic, type: type, chatID: [UInt8(number)], message: [UInt8(number)])
    }

    private func deferred(_ count: Int, at now: Timestamp, in store: any PushStore) async throws -> [PushSlot: DeferredPush] {
        try await store.state { lookups in
            lookups.pushCounts = [installation(): count]
            lookups.allowances.now = now
        }.deferredPushes
    }

    @Test(arguments: StoreUnderTest.all)
    func `a deferred push is due with its credit, and is looked up for targets without credits`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let pushes = [push(1), push(2), push(3, type: .mention)]
            try await store.apply(at: start) { [due] batch in
                batch.enqueue(pushes[0], message: 1)
                batch.enqueue(pushes[1], message: 1, due: due)
                batch.enqueue(pushes[2], message: 1, due: due.advanced(by: .seconds(5)))
            }
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [1])
            #expect(try #require(await store.nextAttempt(route: "")) <= start)
            #expect(try await store.duePushes(route: "", at: due, limit: 9).map(\.id) == [1, 2])

            let message = PushSlot(target: installation(), type: .message)
            let mention = PushSlot(target: installation(), type: .mention)
            #expect(try await deferred(ProtocolLimits.pushCapacity, at: start, in: store).isEmpty)
            let found = try await deferred(ProtocolLimits.pushCapacity + 1, at: start, in: store)
            #expect(
                found == [
                    message: DeferredPush(row: 2, content: pushes[1].content), mention: DeferredPush(row: 3, content: pushes[2].content),
                ])
            // The delivery may be reading this push.
            #expect(try await deferred(100, at: start.advanced(by: .milliseconds(4_001)), in: store).keys.map { $0 } == [mention])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a push that waits for another reason than a credit is not coalesced`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let (one, due) = (push(1), due)
            try await store.apply(at: start) { $0.enqueue(one, message: 1, due: due) }
            _ = try await store.mark([1], until: due)
            #expect(try await deferred(100, at: start, in: store).isEmpty)
            try await store.attempt([1], until: due)
            #expect(try await deferred(100, at: start, in: store).isEmpty)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a coalesced push is counted, writes no row, and balances`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let pushes = (1...4).map { push($0) }
            let due = due
            try await store.apply(at: start) { $0.enqueue(pushes[0], message: 1, due: due) }
            var asked = Lookups()
            asked.pushCounts = [installation(): 100]
            asked.allowances.now = start
            try await store.apply(at: start, loading: asked) { batch in
                for push in pushes[1...] {
                    let isCoalesced = batch.coalesce(push)
                    #expect(isCoalesced)
                    #expect(batch.state.recentDeduplicationKeys.contains(push.deduplicationKey))
                }
            }
            let queued = try await store.duePushes(route: "", at: due, limit: 9)
            #expect(queued.map(\.push.content) == [PushContent(chatID: [], message: [])])
            let facts = try await store.auditFacts()
            #expect(facts.counts[.accepted] == 4 && facts.counts[.coalesced] == 3)
            #expect(facts.openCount == 1 && facts.rowCounts == [:])
            #expect(Audit(facts).balances)
        }
    }

    /// The server once posted such a push to the old token, hours after its owner had unregistered.
    @Test(arguments: StoreUnderTest.all)
    func `waiting pushes are withdrawn when their installation unregisters, those in flight too`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration())
            try await store.enqueue((1...4).map { push($0) })
            var other = push(5)
            other.target = installation(2)
            try await store.enqueue([other])
            _ = try await store.mark([2], until: start.advanced(by: .seconds(150)))
            try await store.attempt([3], until: start.advanced(by: .seconds(60)))
            try await store.unregister(version: 2)
            try await store.change([2], to: .finish(.sent))
            let facts = try await store.auditFacts()
            #expect(facts.rowCounts == [.withdrawn: 4] && facts.leakyRowCount == 0)
            #expect(Audit(facts).balances)
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [5])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `waiting pushes are withdrawn if their installation unregisters and registers in one batch`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration())
            try await store.enqueue([push(1)])
            try await store.apply(at: start) { batch in
                batch.unregister(installation(), version: 2, plaintextDigest: hash(2), topics: topics)
                batch.register(registration(version: 3), topics: topics)
                batch.register(registration(version: 4), topics: topics)
            }
            #expect(try await store.auditFacts().rowCounts == [.withdrawn: 1])
        }
    }
}
