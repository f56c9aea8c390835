import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct TimeoutPolicyTests {
    private let pushes = queued([iosPush(1), iosPush(2)])

    private func attempt(_ outcome: AttemptOutcome) -> PushAttempt {
        PushAttempt(push: pushes[0], outcome: outcome, at: World.start)
    }

    @Test func `each attempt without a response doubles the timeout of the next, whether it counts or not`() {
        var timeouts = TimeoutPolicy()
        var limits: [Duration] = []
        for _ in 0...3 {
            limits.append(timeouts.limit(for: pushes, first: .seconds(60)))
            #expect(timeouts.limit(for: [pushes[1]], first: .seconds(60)) == .seconds(60))
            timeouts.record(attempt(.timedOut(count: 0)))
        }
        #expect(limits == [.seconds(60), .seconds(120), .seconds(150), .seconds(150)])
        #expect(timeouts[pushes[0]] == 0)
    }

    @Test func `attempts during which the route delivered are counted, and the count ends with the third`() {
        var timeouts = TimeoutPolicy()
        for count in [1, 1, 2] {
            timeouts.record(attempt(.timedOut(count: count)))
            #expect(timeouts[pushes[0]] == count)
        }
        timeouts.record(attempt(.timedOut(count: 3)))
        #expect(timeouts[pushes[0]] == 0 && timeouts.limit(for: pushes, first: .seconds(60)) == .seconds(60))
    }

    @Test func `a longer setting stays, and a response resets the timeout`() {
        var timeouts = TimeoutPolicy()
        timeouts.record(attempt(.timedOut(count: 0)))
        #expect(timeouts.limit(for: pushes, first: .seconds(600)) == .seconds(600))
        #expect(timeouts.limit(for: pushes, first: .seconds(1)) == .seconds(2))
        timeouts.record(attempt(.unknown(reason: .noResponse)))
        #expect(timeouts.limit(for: pushes, first: .seconds(1)) == .seconds(1))
    }
}
