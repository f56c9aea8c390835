import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct TimeOutsTests {
    private let pushes = queued([iosPush(1), iosPush(2)])

    @Test func `Each attempt that was not answered doubles the time for the next, up to what gorush ever takes`() {
        var timeOuts = TimeOuts()
        var limits: [Duration] = []
        for count in 0...2 {
            limits.append(timeOuts.limit(for: pushes, first: .seconds(60)))
            #expect(timeOuts.limit(for: [pushes[1]], first: .seconds(60)) == .seconds(60))
            #expect(timeOuts[pushes[0]] == count)
            timeOuts.record([(pushes[0], .timedOut(before: count))])
        }
        #expect(limits == [.seconds(60), .seconds(120), .seconds(150)])
        // It has ended, and nothing is kept.
        #expect(timeOuts[pushes[0]] == 0)
    }

    @Test func `A setting that is longer stays, and an answer starts anew`() {
        var timeOuts = TimeOuts()
        timeOuts.record(pushes.map { ($0, .timedOut(before: 0)) })
        #expect(timeOuts.limit(for: pushes, first: .seconds(600)) == .seconds(600))
        #expect(timeOuts.limit(for: pushes, first: .seconds(1)) == .seconds(2))
        timeOuts.record(pushes.map { ($0, .unknown(reason: "reset")) })
        #expect(timeOuts.limit(for: pushes, first: .seconds(1)) == .seconds(1))
    }
}
