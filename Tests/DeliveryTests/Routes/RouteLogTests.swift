import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct RouteLogTests {
    private static let nothing = "Google delivers nothing, not even to devices that have worked: ServiceUnavailable"

    /// A route and what its log tells.
    private struct Told {
        var route = TestRoute()
        private var device = 10
        var log = RouteLog()
        var lines: [RouteLog.Line] = []

        mutating func look(at seconds: Double) {
            lines += log.lines(for: RouteReport(route.state, gorushURL: "", at: .seconds(seconds)), at: .seconds(seconds))
        }
        mutating func fail(at seconds: Double) {
            // Others than before: a device counts only if its trouble began after the newest delivery.
            route.attempt(device...device + 2, TestRoute.failure, at: seconds)
            device += 3
            look(at: seconds)
            look(at: seconds + 60)
        }
        mutating func deliver(to device: Int = 9, at seconds: Double) {
            route.attempt(device...device, .sent, at: seconds)
            look(at: seconds)
        }
        var issueLines: [RouteLog.Line] { lines.filter { if case .attention = $0 { false } else { true } } }
    }

    @Test func `an issue that returns within ten minutes is not told again, nor that it ended`() {
        var told = Told()
        told.fail(at: 0)
        #expect(told.lines.last == .notDelivered(reason: Self.nothing))
        told.deliver(at: 61)
        #expect(told.lines.last == .deliveredAgain)
        let lines = told.issueLines
        for round in 1...5 {
            told.fail(at: Double(round) * 100)
            told.deliver(at: Double(round) * 100 + 61)
        }
        #expect(told.issueLines == lines)
        // One that lasts is told again.
        told.fail(at: 700)
        told.look(at: 760 + 600)
        #expect(told.lines.last == .notDelivered(reason: Self.nothing))
    }

    @Test func `a pause of the route is told after five seconds, and its end at a delivery`() {
        var told = Told()
        for second in 0..<3 { told.route.attempt(1...1, .notSent(reason: .unavailable), .away(issue: "gone"), at: Double(second)) }
        told.look(at: 2)
        #expect(told.lines == [])
        told.look(at: 7)
        #expect(told.lines == [.notDelivered(reason: "gone")])
        told.deliver(to: 1, at: 10)
        #expect(told.lines == [.notDelivered(reason: "gone"), .deliveredAgain])
    }
}
