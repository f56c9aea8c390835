import Envelope
import TestSupport
import Testing

@Suite(.safetyNet) struct TimestampTests {
    @Test func `a timestamp advances by a duration, to the nanosecond`() {
        let moment = Timestamp(nanoseconds: 1_000)
        #expect(moment.advanced(by: .seconds(1)).nanoseconds == 1_000_001_000)
        #expect(moment.advanced(by: .nanoseconds(-1_001)).nanoseconds == -1)
        #expect(moment < moment.advanced(by: .nanoseconds(1)))
    }

    @Test func `arithmetic saturates for any timestamp of a peer`() {
        #expect(Timestamp(nanoseconds: .max).advanced(by: .nanoseconds(1)).nanoseconds == .max)
        #expect(Timestamp(nanoseconds: .min).advanced(by: .nanoseconds(-1)).nanoseconds == .min)
        #expect(Timestamp(nanoseconds: 0).advanced(by: .seconds(Int64.max)).nanoseconds == .max)
    }
}
