import Tasks
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct BreakerTests {
    private func open(_ breaker: Breaker) throws -> Duration {
        guard case .open(let until, _) = breaker.state else { throw Unexpected() }
        return until
    }

    private struct Unexpected: Error {}

    @Test func `one failure opens the breaker, and one successful attempt closes it`() throws {
        var breaker = Breaker()
        #expect(breaker.permits(at: .zero) == .max)
        breaker.begin()
        breaker.fail(at: .zero, retryAfter: nil, jitter: 1)
        let until = try open(breaker)
        #expect(until == BackOff.route.first)
        #expect(breaker.permits(at: until - .nanoseconds(1)) == 0)
        #expect(breaker.permits(at: until) == 1)
        breaker.begin()
        #expect(breaker.permits(at: until + .seconds(99)) == 0)
        #expect(breaker.nextAttempt == nil)
        breaker.succeed()
        #expect(breaker.state == .closed)
    }

    @Test func `consecutive failures lengthen the pauses, up to a bound`() throws {
        var breaker = Breaker()
        var now = Duration.zero
        for failures in 1...30 {
            breaker.begin()
            breaker.fail(at: now, retryAfter: nil, jitter: 1)
            let until = try open(breaker)
            #expect(breaker.state == .open(until: until, failures: failures))
            #expect(until - now == BackOff.route.bound(afterFailures: failures))
            now = until
        }
    }

    @Test func `many requests that fail together count as one failure`() throws {
        var breaker = Breaker()
        for _ in 1...32 { breaker.fail(at: .zero, retryAfter: nil, jitter: 1) }
        #expect(breaker.state == .open(until: try open(breaker), failures: 1))
    }

    @Test func `the success of an earlier request does not close the breaker`() throws {
        var breaker = Breaker()
        breaker.fail(at: .zero, retryAfter: nil, jitter: 1)
        let state = breaker.state
        breaker.succeed()
        #expect(breaker.state == state)
    }

    @Test func `the breaker stays open until the time that gorush named, also if another request fails later`() throws {
        var breaker = Breaker()
        breaker.fail(at: .seconds(1), retryAfter: .seconds(60), jitter: 1)
        #expect(try open(breaker) == .seconds(61))
        breaker.fail(at: .seconds(2), retryAfter: .seconds(90), jitter: 1)
        breaker.fail(at: .seconds(3), retryAfter: nil, jitter: 1)
        #expect(try open(breaker) == .seconds(92))
    }

    @Test func `an open breaker permits an attempt within 4 seconds`() {
        #expect(BackOff.route.longest <= .seconds(4))
    }

    @Test func `pauses are jittered down to zero, so that routes do not synchronise`() throws {
        var breaker = Breaker()
        breaker.fail(at: .seconds(1), retryAfter: nil, jitter: 0)
        #expect(try open(breaker) == .seconds(1))
    }
}
