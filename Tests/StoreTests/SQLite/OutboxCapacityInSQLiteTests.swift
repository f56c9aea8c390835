import Bytes
import Envelope
import Logging
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct OutboxCapacityInSQLiteTests {
    @Test func `a push without a free slot finishes at once and keeps no secret`() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(
            path: folder.database, identity: identity, sealingKeys: sealingKeys(1), random: SplitMix64(seed: 1), maximumQueueCount: 8,
            namedBundleIDs: ["topic"], logger: quietLogger)
        try await store.register(registration(installation(100)))
        var update = OutboxUpdate()
        update.tokens = [.delivered(TargetRegistration(row: 1, version: 1))]
        _ = try await store.update(update, at: start)

        try await store.enqueue(
            (1...7).map {
                var push = push($0)
                push.deviceToken = DeviceToken("device \($0)")
                return push
            })
        #expect(try await store.queuedPushCount() == 6)
        var proven = push(100)
        proven.apnTopic = "im.status.ethereum"
        try await store.enqueue([proven, proven, proven])
        #expect(try await store.queuedPushCount() == 8)
        #expect(store.refusedPushCounts == ["": 2])
        let facts = try await store.auditFacts()
        #expect(facts.rowCounts == [.refused: 2] && facts.leakyRowCount == 0 && Audit(facts).balances)
        // The store keeps the refused push's deduplication key, so that the server recognises a repeated request.
        #expect(
            try await store.state { $0.deduplicationKeys = [push(7).deduplicationKey] }.recentDeduplicationKeys == [
                push(7).deduplicationKey
            ])

        // The store notices some seconds later that pushes have ended whose slots nobody gave back.
        try await store.change([1, 2, 3], to: .finish(.sent))
        try await store.enqueue([push(8)], at: start.advanced(by: .seconds(9)))
        #expect(try await store.queuedPushCount() == 5)
        try await store.enqueue([push(9), push(10)], at: start.advanced(by: .seconds(10)))
        #expect(try await store.queuedPushCount() == 7)
        await store.close()
    }
}
