import Store
import TestSupport
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

    /// Pushes of many devices come and are attempted, and one device has most of them.
    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    mutating func `no device overtakes the push of another more than twice, and each push is attempted once`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var waiting: [PushTrust: [(next: Int64, id: Int64, device: Int)]] = [:]
        var (last, attempted): (Int64, Set<Int64>) = (0, [])
        /// How often other devices were attempted since the oldest push of a device came.
        var overtaken: [Int: [Int: Int]] = [:]
        func isFirst(_ device: Int, _ trust: PushTrust) -> Bool { !waiting[trust, default: []].contains { $0.device == device } }
        for step in 0..<2_000 {
            if step < 1_500, Int.random(in: 0..<3, using: &random) > 0 {
                let device = Bool.random(using: &random) ? 0 : Int.random(in: 0..<30, using: &random)
                let trust = PushTrust.allCases[device % PushTrust.allCases.count]
                if isFirst(device, trust) { overtaken[device] = [:] }
                last += 1
                waiting[trust, default: []].append((enter(device, trust), last, device))
            } else {
                let limit = Int.random(in: 1...12, using: &random)
                let due = waiting.mapValues { rows in
                    DuePushes(
                        first: rows.sorted { ($0.next, $0.id) < ($1.next, $1.id) }.prefix(limit).map { ($0.next, $0.id) }, retries: [])
                }
                let chosen = queue.choose(limit, among: due, in: "a")
                #expect(chosen.count == min(limit, waiting.values.reduce(0) { $0 + $1.count }))
                for id in chosen {
                    #expect(attempted.insert(id).inserted)
                    for (trust, rows) in waiting {
                        guard let row = rows.first(where: { $0.id == id }) else { continue }
                        waiting[trust]?.removeAll { $0.id == id }
                        overtaken[row.device] = [:]
                        for other in Set(rows.map(\.device)) where other != row.device {
                            overtaken[other, default: [:]][row.device, default: 0] += 1
                            #expect(overtaken[other]?[row.device] ?? 0 <= 2)
                        }
                    }
                }
            }
        }
        while waiting.values.contains(where: { !$0.isEmpty }) {
            let due = waiting.mapValues { DuePushes(first: $0.sorted { $0.next < $1.next }.map { ($0.next, $0.id) }, retries: []) }
            for id in queue.choose(50, among: due, in: "a") {
                #expect(attempted.insert(id).inserted)
                for trust in waiting.keys { waiting[trust]?.removeAll { $0.id == id } }
            }
        }
        #expect(attempted.count == Int(last))
    }
}
