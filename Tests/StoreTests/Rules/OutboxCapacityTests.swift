import Envelope
import Store
import TestSupport
import Testing

struct OutboxCapacityTests {
    @Test(arguments: [
        (1_000_000, 1_000_000, 750_000, 10_000), (5_000_000, 5_000_000, 3_750_000, 10_000), (1_000, 1_000, 750, 10), (8, 8, 6, 1),
    ])
    func `a quarter is reserved for proven targets, and a hundredth is for unknown bundle ids`(
        maximum: Int, proven: Int, unproven: Int, unknown: Int
    ) {
        let capacity = OutboxCapacity(maximumCount: maximum)
        #expect(PushTrust.allCases.map(capacity.limit) == [proven, unproven, unknown, unproven])
    }

    @Test func `pushes to unknown bundle ids take no slots of the others, and others take none of theirs`() {
        var capacity = OutboxCapacity(maximumCount: 800)
        func reserve(_ count: Int, _ trust: PushTrust) -> Int {
            (1...count).count { _ in capacity.reserveSlot(in: "a", trust: trust, at: start, counting: { 0 }, makingRoom: { 0 }) }
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
            capacity.reserveSlot(
                in: "a", trust: .proven, at: start.advanced(by: .seconds(seconds)), counting: { waiting }, makingRoom: { 0 })
        }
        #expect(reserve(after: 0))
        waiting = 1
        #expect(!reserve(after: 9))
        #expect(reserve(after: 10))
    }

    @Test func `a full queue is counted again at once when the clock was set back`() {
        var capacity = OutboxCapacity(maximumCount: 4)
        var waiting = 4
        func reserve(after seconds: Int) -> Bool {
            capacity.reserveSlot(
                in: "a", trust: .proven, at: start.advanced(by: .seconds(seconds)), counting: { waiting }, makingRoom: { 0 })
        }
        #expect(!reserve(after: 0))
        waiting = 0
        #expect(!reserve(after: 9))
        #expect(reserve(after: -86_400))
    }

    /// Pushes come and go while the clock jumps.
    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a queue never holds too many, and takes as many as it may once they have gone`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var capacity = OutboxCapacity(maximumCount: 200)
        var waiting: [OutboxCapacity.Slots: Int] = [:]
        var now = start
        func reserve(_ trust: PushTrust) -> Bool {
            let slots = OutboxCapacity.Slots(trust)
            let isFree = capacity.reserveSlot(in: "a", trust: trust, at: now, counting: { waiting[slots, default: 0] }, makingRoom: { 0 })
            if isFree { waiting[slots, default: 0] += 1 }
            return isFree
        }
        for _ in 0..<5_000 {
            now = now.advanced(
                by: .seconds(Int.random(in: 0..<20, using: &random) == 0 ? Int.random(in: -86_400...86_400, using: &random) : 1))
            guard let trust = PushTrust.allCases.randomElement(using: &random) else { continue }
            let slots = OutboxCapacity.Slots(trust)
            let count = waiting[slots, default: 0]
            if Int.random(in: 0..<5, using: &random) > 0 {
                #expect(!reserve(trust) || count < capacity.limit(for: trust))
            } else {
                waiting[slots] = Int.random(in: 0...count, using: &random)
            }
        }
        waiting = [:]
        now = now.advanced(by: .seconds(10))
        for trust in [PushTrust.unknownBundleID, .unproven] {
            #expect((0..<200).count { _ in reserve(trust) } == capacity.limit(for: trust))
        }
        #expect((0..<200).count { _ in reserve(.proven) } == capacity.limit(for: .proven) - capacity.limit(for: .unproven))
    }
}
