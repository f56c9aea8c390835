import Bytes
import Store
import TestSupport
import Testing

@testable import Delivery

/// Whose turn it is.
@Suite(.safetyNet) struct LinesTests {
    private func device(_ number: Int) -> DeviceCode {
        var device = DeviceCode(repeating: UInt8(truncatingIfNeeded: number))
        device[1] = UInt8(truncatingIfNeeded: number >> 8)
        return device
    }

    @Test func `devices that have worked get twice the turns of new ones, and no line starves`() {
        var lines = Lines()
        var turns: [Line: Int] = [:]
        for line in Line.allCases { for number in 0..<700 { _ = lines.insert(device(number), into: line, by: .zero) } }
        for _ in 0..<660 {
            guard let line = lines.order.first, lines.removeFirst(of: line) != nil else { break }
            lines.use(line)
            turns[line, default: 0] += 1
        }
        // The weights are 8, 4, 2, 4, 1, 2, 1 of 22.
        for line in Line.allCases { #expect(abs(turns[line, default: 0] - Int(line.weight) * 30) <= 1, "\(line)") }
    }

    @Test func `a line that was empty has saved up no turns`() {
        var lines = Lines()
        for number in 0..<50 {
            _ = lines.insert(device(number), into: .proven, by: .zero)
            _ = lines.removeFirst(of: .proven)
            lines.use(.proven)
        }
        for number in 0..<20 {
            _ = lines.insert(device(number), into: .proven, by: .zero)
            _ = lines.insert(device(number), into: .new, by: .zero)
        }
        var turns: [Line] = []
        while turns.count < 12, let line = lines.order.first, lines.removeFirst(of: line) != nil {
            lines.use(line)
            turns.append(line)
        }
        #expect(turns.count { $0 == .new } <= 5)
    }

    @Test func `within a line the least key is next, and equal ones keep their order`() {
        var lines = Lines()
        for (number, key) in [(1, 5), (2, 3), (3, 5), (4, 1)] { _ = lines.insert(device(number), into: .again, by: .seconds(key)) }
        let order = (0..<4).compactMap { _ in lines.removeFirst(of: .again)?.device }
        #expect(order == [4, 2, 1, 3].map(device))
        #expect(lines.removeFirst(of: .again) == nil && lines.order.isEmpty)
    }
}

@Suite(.safetyNet) struct BulkheadTests {
    /// How many of 96 attempts of a class start, beside slow attempts of another.
    private func started(_ attemptClass: AttemptClass, workers: Int, besideSlow slow: (AttemptClass, Int)?) -> Int {
        var bulkhead = Bulkhead(workerCount: workers)
        if let (other, count) = slow { for number in 0..<count { bulkhead.begin(number, other, at: .zero) } }
        var room = bulkhead.room(at: .seconds(5))
        var count = 0
        while room.allows(attemptClass) {
            room.use(attemptClass)
            count += 1
        }
        return count
    }

    @Test(arguments: [(AttemptClass.proven, 32), (.new, 28), (.slow, 28)])
    func `while nothing is slow, an eighth is for devices that have worked`(attemptClass: AttemptClass, count: Int) {
        #expect(started(attemptClass, workers: 32, besideSlow: nil) == count)
    }

    @Test(arguments: [(AttemptClass.proven, 24), (.new, 12)])
    func `beside an attempt that is slow, nobody uses what is reserved for others`(attemptClass: AttemptClass, count: Int) {
        // 16 are reserved for devices that have worked, 4 for new ones, 4 for slow ones, of which one is used.
        #expect(started(attemptClass, workers: 32, besideSlow: (.slow, 1)) == count)
    }

    @Test func `a slow attempt to a device that has worked does not count as one of the reserved`() {
        var bulkhead = Bulkhead(workerCount: 4)
        bulkhead.begin(1, .proven, at: .zero)
        bulkhead.begin(2, .proven, at: .zero)
        #expect(bulkhead.room(at: .seconds(5)).allows(.proven))
        #expect(!bulkhead.room(at: .seconds(5)).allows(.new))
        bulkhead.end(1)
        bulkhead.end(2)
        #expect(bulkhead.room(at: .seconds(5)).allows(.new) && bulkhead.count == 0)
    }

    @Test func `with one worker, one attempt is in flight`() {
        var bulkhead = Bulkhead(workerCount: 1)
        #expect(AttemptClass.allCases.allSatisfy { bulkhead.room(at: .zero).allows($0) })
        bulkhead.begin(1, .slow, at: .zero)
        #expect(AttemptClass.allCases.allSatisfy { !bulkhead.room(at: .zero).allows($0) })
        #expect(bulkhead.nextChange(after: .zero) == Bulkhead.slowDuration && bulkhead.nextChange(after: .seconds(5)) == nil)
    }
}

@Suite(.safetyNet) struct RetryBudgetTests {
    @Test(arguments: [(8, 2.0), (32, 4), (96, 12)])
    func `it allows an eighth of the workers a second, two at least, and two more for each delivery`(workers: Int, perSecond: Double) {
        var budget = RetryBudget.retries
        budget.spend(at: .zero, workers: workers)
        #expect(budget.available(at: .zero, workers: workers) == 0)
        #expect(budget.next(at: .zero, workers: workers) == .seconds(1 / perSecond))
        #expect(budget.available(at: .seconds(1), workers: workers) == perSecond)
        budget.delivered(at: .seconds(1), workers: workers)
        #expect(budget.available(at: .seconds(1), workers: workers) == perSecond + 2)
        budget.spend(at: .seconds(1), workers: workers)
        budget.giveBack(at: .seconds(1), workers: workers)
        #expect(budget.available(at: .seconds(1), workers: workers) == perSecond + 2)
        #expect(budget.available(at: .seconds(99), workers: workers) == Double(workers))
        budget.delivered(at: .seconds(99), workers: workers)
        #expect(budget.available(at: .seconds(99), workers: workers) == Double(workers))
        #expect(budget.next(at: .seconds(99), workers: workers) == .seconds(99))
    }

    @Test func `new connections have two a second, however many workers there are`() {
        var budget = RetryBudget.connections
        budget.spend(at: .zero, workers: 96)
        #expect(budget.available(at: .seconds(1), workers: 96) == 2)
    }
}

@Suite(.safetyNet) struct CircuitBreakerTests {
    private func paused() -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for number in 1...3 {
            breaker.posted(number, at: .seconds(number))
            breaker.ended(number)
            #expect(breaker.permission(at: .seconds(number)) == .all)
            breaker.refused(at: .seconds(number))
        }
        return breaker
    }

    @Test func `three refused attempts in a row pause the route, and each second has a trial`() {
        var breaker = paused()
        #expect(breaker.permission(at: .seconds(3)) == .wait(until: .seconds(4)))
        #expect(breaker.permission(at: .seconds(4)) == .trial)
        breaker.posted(4, at: .seconds(4))
        #expect(breaker.permission(at: .seconds(5)) == .wait(until: .seconds(9)))
        breaker.ended(4)
        breaker.refused(at: .seconds(5))
        #expect(breaker.permission(at: .seconds(5)) == .wait(until: .seconds(6)))
        #expect(breaker.pausedSince == .seconds(3))
    }

    @Test func `an answer ends the pause, and so does a trial that gorush has taken for five seconds`() {
        var breaker = paused()
        breaker.answered()
        #expect(breaker.permission(at: .seconds(3)) == .all && breaker.pausedSince == nil)
        breaker = paused()
        breaker.posted(4, at: .seconds(4))
        #expect(breaker.permission(at: .seconds(9)) == .all)
    }

    @Test func `an answer between refused attempts keeps the route open`() {
        var breaker = CircuitBreaker()
        for _ in 0..<9 {
            breaker.refused(at: .zero)
            breaker.refused(at: .zero)
            breaker.answered()
        }
        #expect(breaker.permission(at: .zero) == .all)
    }

    @Test func `an attempt from before the pause that hangs does not end it`() {
        var breaker = CircuitBreaker()
        breaker.posted(1, at: .zero)
        for _ in 0..<3 { breaker.refused(at: .seconds(1)) }
        #expect(breaker.permission(at: .seconds(2)) == .wait(until: .seconds(5)))
        #expect(breaker.permission(at: .seconds(6)) == .trial)
    }
}
