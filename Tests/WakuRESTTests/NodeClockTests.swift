import Envelope
import TestSupport
import Testing

@testable import WakuREST

@Suite(.safetyNet) struct NodeClockTests {
    /// 1994-11-06, 08:49:37 UTC.
    private let time = Timestamp(nanoseconds: 784_111_777 * 1_000_000_000)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Duration.seconds(10)), ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(-50)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("", nil),
            (nil, nil),
        ] as [(String?, Duration?)])
    func `the clock learns the node's time from a date`(date: String?, lead: Duration?) {
        let now = time.advanced(by: .seconds(10))
        let clock = NodeClock(WallClock { now })
        clock.note(date, to: now)
        #expect(clock.lead == lead)
    }

    @Test(arguments: [-1, 5, 6]) func `a response that took long, or in which the clock was set back, says nothing`(seconds: Int) {
        let now = time
        let clock = NodeClock(WallClock { now })
        clock.note("Sun, 06 Nov 1994 08:49:37 GMT", to: now.advanced(by: .seconds(-seconds)))
        #expect((clock.lead == nil) == (seconds != 5))
    }
}
