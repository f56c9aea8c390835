import Envelope
import Logging
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct OutboxRoomTests {
    @Test func `What finds no place ends at once, keeps no secret and is counted; a quarter is for targets that have worked`() async throws
    {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(
            path: folder.database, identity: identity, random: SplitMix64(seed: 1), maximumQueueCount: 8, logger: Logger(label: "test"))
        try await store.register(registration(installation(100)))
        var update = OutboxUpdate()
        update.tokens = [.delivered(TargetRegistration(row: 1, version: 1))]
        _ = try await store.update(update, at: start)

        try await store.enqueue((1...7).map { push($0) })
        #expect(try await store.queuedPushCount() == 6)
        var proven = push(100)
        proven.apnTopic = "im.status.ethereum"
        try await store.enqueue([proven, proven, proven])
        #expect(try await store.queuedPushCount() == 8)
        #expect(store.refusedPushCounts == ["": 2])
        let facts = try await store.auditFacts()
        #expect(facts.rowCounts == [.refused: 2] && facts.leakyRowCount == 0 && Audit(facts).balances)
        // It is remembered, so that a repetition is none.
        #expect(
            try await store.facts { $0.deduplicationKeys = [push(7).deduplicationKey] }.recentDeduplicationKeys == [
                push(7).deduplicationKey
            ])

        // What has gone is noticed some seconds later.
        try await store.change([1, 2, 3], to: .finish(.sent))
        try await store.enqueue([push(8)], at: start.advanced(by: .seconds(9)))
        #expect(try await store.queuedPushCount() == 5)
        try await store.enqueue([push(9), push(10)], at: start.advanced(by: .seconds(10)))
        #expect(try await store.queuedPushCount() == 6)
        await store.close()
    }

    @Test func `Turns that are over are forgotten, and those of a transaction that failed never were`() {
        var turns = OutboxTurns()
        func next(_ number: Int, in route: String = "a") -> Int64 {
            var given = OutboxTurns.Given()
            let turn = turns.next(for: installation(number), in: route, after: &given)
            turns.keep(given)
            return turn
        }
        var lost = OutboxTurns.Given()
        #expect((1...3).map { _ in turns.next(for: installation(1), in: "a", after: &lost) } == [1, 2, 3])
        for number in 1...100 { #expect(next(1) == Int64(number)) }
        #expect(next(2) == 1)
        #expect(next(1, in: "b") == 1)
        turns.reach(60, in: "a")
        turns.reach(50, in: "a")
        #expect(next(2) == 60)
        #expect(next(1) == 101)
        for number in 1_000..<31_000 {
            turns.reach(Int64(number), in: "a")
            _ = next(number)
        }
        #expect(turns.count(in: "a") <= 10_001)
    }
}
