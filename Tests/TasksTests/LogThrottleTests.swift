import Testing

@testable import Tasks

struct LogThrottleTests {
    @Test func `the first event is reported at once, those of the next minute together with the one after it`() {
        var counter = LogThrottle()
        #expect(counter.add(0, at: .zero) == nil)
        #expect(counter.add(2, at: .seconds(1)) == 2)
        #expect(counter.add(3, at: .seconds(2)) == nil)
        #expect(counter.add(4, at: .seconds(60)) == nil)
        #expect(counter.add(0, at: .seconds(61)) == 7)
        #expect(counter.add(1, at: .seconds(62)) == nil)
    }
}
