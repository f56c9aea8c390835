import Store
import Testing

struct OutboxFairQueueTests {
    private var queue = OutboxFairQueue()

    private mutating func enter(_ number: Int, _ trust: PushTrust = .unproven, in route: String = "a") -> Int64 {
        var assignment = OutboxFairQueue.Assignment()
        let round = queue.round(for: installation(number), trust: trust, in: route, after: &assignment)
        queue.commit(assignment)
        return round
    }

    @Test mutating func `each target has one push per round, and a new target enters the current round`() {
        for number in 1...100 { #expect(enter(1) == Int64(number)) }
        #expect(enter(2) == 1)
        #expect(enter(1, in: "b") == 1)
        #expect(enter(1, .proven) == 1)
        queue.reach(60, trust: .unproven, in: "a")
        queue.reach(50, trust: .unproven, in: "a")
        #expect(enter(2) == 60)
        #expect(enter(1) == 101)
    }

    @Test mutating func `rounds of a failed transaction do not count`() {
        var lost = OutboxFairQueue.Assignment()
        let rounds = (1...3).map { _ in queue.round(for: installation(1), trust: .unproven, in: "a", after: &lost) }
        #expect(rounds == [1, 2, 3])
        #expect(enter(1) == 1)
    }

    @Test mutating func `targets of past rounds leave memory`() {
        for number in 1..<30_000 {
            queue.reach(Int64(number), trust: .unproven, in: "a")
            _ = enter(number)
        }
        #expect(queue.targetCount(trust: .unproven, in: "a") <= 10_001)
    }

    private static let flood = OutboxFairQueue.Counts(first: 500, retries: 500)

    @Test mutating func `a quarter of the attempts are retries, more only without first attempts`() {
        func retries(_ limit: Int, first: Int = 500, retries: Int = 500) -> Int? {
            queue.divide(limit, among: [.unproven: .init(first: first, retries: retries)], in: "a")[.unproven]?.retries
        }
        #expect(retries(8) == 2)
        #expect((1...20).reduce(0) { sum, _ in sum + (retries(1) ?? 0) } == 5)
        #expect(retries(36) == 9)
        #expect(retries(99, first: 30, retries: 10) == 10)
        #expect(retries(36, first: 1, retries: 100) == 35)
        #expect(retries(36, first: 0, retries: 0) == nil)
    }

    @Test(arguments: [1, 2, 3, 7, 100])
    mutating func `at least half of the attempts go to proven targets while any of their pushes waits`(limit: Int) {
        var provenCount = 0
        var otherCount = 0
        for _ in 1...24 {
            let divided = queue.divide(
                limit, among: [.proven: Self.flood, .unproven: Self.flood, .unknownBundleID: Self.flood], in: "a")
            for (trust, counts) in divided {
                if trust == .proven { provenCount += counts.first + counts.retries } else { otherCount += counts.first + counts.retries }
            }
            #expect(provenCount >= otherCount)
        }
        #expect(provenCount + otherCount == 24 * limit)
        // The others do not starve.
        #expect(otherCount == 12 * limit)
    }

    @Test mutating func `attempts that one trust does not need go to the others`() {
        let divided = queue.divide(10, among: [.proven: .init(first: 2), .unknownBundleID: Self.flood], in: "a")
        #expect(divided == [.proven: .init(first: 2), .unknownBundleID: .init(first: 6, retries: 2)])
        #expect(queue.divide(10, among: [.proven: .init(first: 20)], in: "b") == [.proven: .init(first: 10)])
        #expect(queue.divide(10, among: [:], in: "c").isEmpty)
    }

    @Test mutating func `unknown bundle ids get a quarter of the attempts that are left for unproven targets`() {
        let divided = queue.divide(80, among: [.unproven: .init(first: 99), .unknownBundleID: .init(first: 99)], in: "a")
        #expect(divided == [.unproven: .init(first: 60), .unknownBundleID: .init(first: 20)])
    }
}
