import Envelope
import Store
import Testing

struct OutboxCapacityTests {
    @Test(arguments: [
        (1_000_000, 1_000_000, 750_000, 10_000), (5_000_000, 5_000_000, 3_750_000, 10_000), (1_000, 1_000, 750, 10), (8, 8, 6, 1),
    ])
    func `a quarter is reserved for proven targets, and a hundredth is for unknown bundle ids`(
        maximum: Int, proven: Int, unproven: Int, unknown: Int
    ) {
        let capacity = OutboxCapacity(maximumCount: maximum)
        #expect(PushTrust.allCases.map(capacity.limit) == [proven, unproven, unknown])
    }

    @Test func `pushes to unknown bundle ids take no slots of the others, and others take none of theirs`() {
        var capacity = OutboxCapacity(maximumCount: 800)
        func reserve(_ count: Int, _ trust: PushTrust) -> Int {
            (1...count).count { _ in capacity.reserveSlot(in: "a", trust: trust, at: start) { 0 } }
        }
        #expect(reserve(900, .unknownBundleID) == 8)
        #expect(reserve(900, .unproven) == 600)
        #expect(reserve(900, .proven) == 200)
        #expect(capacity.rejectedCounts == ["a": 892 + 300 + 700])
    }

    @Test func `a full queue is counted again after ten seconds`() {
        var capacity = OutboxCapacity(maximumCount: 4)
        var waiting = 3
        func reserve(after seconds: Int) -> Bool {
            capacity.reserveSlot(in: "a", trust: .proven, at: start.advanced(by: .seconds(seconds))) { waiting }
        }
        #expect(reserve(after: 0))
        waiting = 1
        #expect(!reserve(after: 9))
        #expect(reserve(after: 10))
    }
}
