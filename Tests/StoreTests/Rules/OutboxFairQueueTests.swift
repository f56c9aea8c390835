import Envelope
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

    // MARK: Reading

    private typealias Row = (next: Int64, id: Int64, device: Int)

    /// Reads the next rows of a queue whose rows are these.
    private mutating func read(_ limit: Int, of rows: [Row]) -> [Row] {
        var progress = queue.beginReading(trust: .unproven, in: "a")
        let rest = rows.sorted { ($0.next, $0.id) < ($1.next, $1.id) }
            .filter { OutboxFairQueue.Position(next: .round($0.next), id: $0.id) > progress.rounds }.prefix(limit)
        if let last = rest.last { progress.rounds = .init(next: .round(last.next), id: last.id) }
        queue.endReading(at: progress, trust: .unproven, in: "a")
        return Array(rest)
    }

    /// Pushes of many devices come while the queue is read in portions, and one device has most of them.
    @Test(arguments: 1...5 as ClosedRange<UInt64>, [1, 7, 64])
    mutating func `each push is read once, and no device before another by more than two rounds`(seed: UInt64, limit: Int) {
        var random = SplitMix64(seed: seed)
        var (rows, read): ([Row], Set<Int64>) = ([], [])
        /// How many pushes of each device were read since the oldest unread push of another came.
        var overtaken: [Int: [Int: Int]] = [:]
        func take(_ found: [Row]) {
            for row in found {
                #expect(read.insert(row.id).inserted)
                overtaken[row.device] = [:]
                for other in Set(rows.filter { !read.contains($0.id) }.map(\.device)) where other != row.device {
                    overtaken[other, default: [:]][row.device, default: 0] += 1
                    #expect(overtaken[other]?[row.device] ?? 0 <= 2)
                }
            }
        }
        for step in 0..<1_500 {
            if step < 1_200, Int.random(in: 0..<3, using: &random) > 0 {
                let device = Bool.random(using: &random) ? 0 : Int.random(in: 0..<30, using: &random)
                if !rows.contains(where: { $0.device == device && !read.contains($0.id) }) { overtaken[device] = [:] }
                rows.append((enter(device), Int64(rows.count + 1), device))
            } else {
                take(self.read(limit, of: rows))
            }
        }
        while true {
            let rest = self.read(limit, of: rows)
            if rest.isEmpty { break }
            take(rest)
        }
        #expect(read.count == rows.count)
    }

    @Test(arguments: [true, false])
    mutating func `a push that commits after its round was read is read the next time`(commitsWhileReading: Bool) {
        var late = OutboxFairQueue.Assignment()
        let round = queue.round(for: installation(1), trust: .unproven, in: "a", after: &late)
        let known: Row = (enter(2), 7, 2)
        if commitsWhileReading {
            var progress = queue.beginReading(trust: .unproven, in: "a")
            progress.rounds = .init(next: .round(known.next), id: known.id)
            queue.commit(late)
            queue.endReading(at: progress, trust: .unproven, in: "a")
        } else {
            #expect(read(9, of: [known]).map(\.id) == [7])
            queue.commit(late)
        }
        // The known one is read again, which its reader recognises.
        #expect(Set(read(9, of: [known, (round, 3, 1)]).map(\.id)).isSuperset(of: [3]))
        #expect(read(9, of: [known, (round, 3, 1)]).isEmpty)
    }

    @Test mutating func `a push that waits for a time that was read is read the next time`() {
        let time = Timestamp(nanoseconds: NextAttempt.firstTime.rawValue + 50)
        var progress = queue.beginReading(trust: .unproven, in: "a")
        progress.times = .init(next: .time(time.advanced(by: .nanoseconds(50))), id: 9)
        queue.endReading(at: progress, trust: .unproven, in: "a")
        var assignment = OutboxFairQueue.Assignment()
        assignment.add(time: time, trust: .unproven, in: "a")
        queue.commit(assignment)
        #expect(queue.beginReading(trust: .unproven, in: "a").times == .init(next: .time(time), id: 0))
    }

    @Test mutating func `queues are read again from their starts on demand`() {
        let rows: [Row] = [(enter(1), 1, 1), (enter(2), 2, 2)]
        #expect(read(9, of: rows).count == 2 && read(9, of: rows).isEmpty)
        queue.reread("b")
        #expect(read(9, of: rows).isEmpty)
        queue.reread("a")
        #expect(read(9, of: rows).count == 2)
        queue.rereadAll()
        #expect(read(9, of: rows).count == 2)
    }
}
