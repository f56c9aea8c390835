import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct RouteLogTests: RouteStateSuite {
    private static let nothing = "Google delivers nothing, not even to devices that have worked: ServiceUnavailable"

    /// A route and what its log tells.
    private struct Told {
        var route: RouteState
        var log = RouteLog()
        var lines: [RouteLog.Line] = []

        mutating func handle(_ event: RouteState.Event, at seconds: Int) {
            route.handle(event, at: .seconds(seconds))
            lines += log.lines(for: RouteStatus(route, at: .seconds(seconds)), at: .seconds(seconds))
        }
    }

    private func fail(_ told: inout Told, at seconds: Int) {
        for (number, time) in [(1, seconds), (2, seconds + 60)] {
            told.handle(answered(.healthy, [failed(number, "ServiceUnavailable")]), at: time)
        }
    }

    @Test func `an issue that returns within ten minutes is not told again, nor that it ended`() {
        var told = Told(route: started())
        fail(&told, at: 0)
        #expect(told.lines.first == .notDelivered(reason: Self.nothing))
        told.handle(answered(.healthy, [attempt(1, .sent)]), at: 61)
        #expect(told.lines.last == .deliveredAgain)
        func issueLines() -> [RouteLog.Line] { told.lines.filter { if case .attention = $0 { false } else { true } } }
        let lines = issueLines()
        for round in 1...5 {
            fail(&told, at: round * 100)
            told.handle(answered(.healthy, [attempt(1, .sent)]), at: round * 100 + 61)
        }
        #expect(issueLines() == lines)
        // One that lasts is told again, and so is one that returns later.
        fail(&told, at: 700)
        told.handle(.woken, at: 760 + 600)
        #expect(told.lines.last == .notDelivered(reason: Self.nothing))
    }

    @Test func `the end of an issue is told at a delivery`() {
        var told = Told(route: started())
        told.handle(answered(Self.failing), at: 0)
        #expect(told.lines == [.notDelivered(reason: "gone")])
        // gorush works again, and no push waits.
        told.handle(.probed(.silent), at: 1)
        told.handle(.limited(7, []), at: 9)
        _ = told.route.next(at: .seconds(9))
        told.handle(.nothingDue(until: nil), at: 9)
        told.handle(.probed(.silent), at: 13)
        #expect(told.lines == [.notDelivered(reason: "gone")])
        told.handle(answered(.healthy, [attempt(1, .sent)]), at: 700)
        if RouteStatus(told.route, at: .seconds(700)).conditions.isEmpty { #expect(told.lines.last == .deliveredAgain) }
    }

    @Test func `an issue that ends while no push waits is told to have ended at the next delivery`() {
        var told = Told(route: retrying())
        told.handle(.nothingDue(until: nil), at: 4)
        #expect(told.lines == [.notDelivered(reason: "gone")])
        told.handle(.probed(.silent), at: 40)
        #expect(RouteStatus(told.route, at: .seconds(40)).conditions.isEmpty)
        #expect(told.lines == [.notDelivered(reason: "gone")])
        told.handle(answered(.healthy, [attempt(1, .sent)]), at: 700)
        #expect(told.lines == [.notDelivered(reason: "gone"), .deliveredAgain])
    }
}
