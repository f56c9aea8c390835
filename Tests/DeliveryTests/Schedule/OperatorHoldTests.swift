import Envelope
import Store
import TestSupport
import Testing

@testable import Delivery

/// A route as a value while an operator holds it.
@Suite(.safetyNet) struct OperatorHoldTests {
    /// The route holds from the start for a hundred seconds.
    private static let hold = RouteHold(route: "route", start: World.start, end: World.start.advanced(by: .seconds(100)))

    private static func hold(_ route: inout TestRoute, _ hold: RouteHold? = hold, isQueueNearlyFull: Bool = false, at seconds: Double)
        -> Bool
    {
        let end = hold.map { World.start.duration(to: $0.end) } ?? .zero
        return route.state.held(hold, until: end, isQueueNearlyFull: isQueueNearlyFull, at: .seconds(seconds))
    }

    /// Does what is due, and returns when the wait after it ends.
    private static func end(_ route: inout TestRoute, at seconds: Double) -> Duration? {
        for _ in 1...20 {
            switch route.state.next(at: .seconds(seconds)) {
            case .wait(let until): return until
            case .read(let page): route.state.read(page, [], at: .seconds(seconds))
            case .post: return nil
            default: break
            }
        }
        return nil
    }

    @Test func `a held route attempts calls, and nothing else before its hold ends`() {
        var route = TestRoute()
        #expect(!Self.hold(&route, at: 0))
        route.accept(1, at: 0)
        route.accept(2, trust: .call, at: 0)
        #expect(route.choose(at: 0).map(\.kind) == [.call])
        #expect(Self.end(&route, at: 80) == .seconds(100))
        #expect(route.choose(at: 99.9).isEmpty)
        #expect(Self.end(&route, at: 100) == nil && route.choose(at: 100).map(\.device) == [TestRoute.device(1)])
    }

    @Test func `a resumed route goes on at once, and a second hold replaces the end of the first`() {
        var route = TestRoute()
        route.accept(1, at: 0)
        var longer = Self.hold
        longer.end = World.start.advanced(by: .seconds(200))
        let isOver = (Self.hold(&route, at: 0), Self.hold(&route, longer, at: 50))
        #expect(isOver == (false, false) && route.choose(at: 150).isEmpty)
        #expect(!Self.hold(&route, nil, at: 150))
        #expect(route.choose(at: 150).count == 1)
    }

    @Test func `retries wait too, and what is in flight is answered`() throws {
        var route = TestRoute()
        route.attempt(1...1, TestRoute.failure, at: 0)
        route.accept(2, at: 0)
        let posted = try #require(route.choose(at: 0).first)
        #expect(!Self.hold(&route, at: 1))
        route.answer(posted, to: 2, .sent, at: 2)
        #expect(route.state.belief.deliveryCount == 1)
        #expect(route.choose(at: 10).isEmpty && route.choose(at: 100).map(\.kind) == [.retry])
    }

    @Test func `a hold whose queue is three quarters full ends for good, and is told for an hour`() {
        var route = TestRoute()
        route.accept(1, at: 0)
        #expect(!Self.hold(&route, at: 0) && route.choose(at: 0).isEmpty)
        #expect(Self.hold(&route, isQueueNearlyFull: true, at: 2))
        #expect(route.choose(at: 2).count == 1)
        // Its row is there until it is deleted, and the queue is emptier.
        #expect(Self.hold(&route, at: 4) && route.state.hold.end(at: .seconds(4)) == nil)
        #expect(!Self.hold(&route, nil, at: 6))
        let told = route.state.holdCondition(at: .seconds(3_601))
        #expect(told?.text == "the hold of route has ended early, because its queue is three quarters full")
        #expect(route.state.holdCondition(at: .seconds(3_602)) == nil)
        var next = Self.hold
        next.start = World.start.advanced(by: .seconds(10))
        #expect(!Self.hold(&route, next, at: 10) && route.state.hold.end(at: .seconds(10)) == .seconds(100))
    }

    @Test func `a hold is a warning until its end, and is logged once`() {
        var (route, log) = (TestRoute(), RouteLog())
        #expect(!Self.hold(&route, at: 0))
        var report = RouteReport(route.state, gorushURL: "", at: .seconds(1))
        let text = "held by an operator: from 2027-01-15T08:00:00Z to 2027-01-15T08:01:40Z, pushes wait, and calls do not"
        #expect(log.lines(for: report, at: .seconds(1)) == [.attention(reason: text)])
        #expect(log.lines(for: report, at: .seconds(2)) == [] && report.issues == [] && report.holdTime == .seconds(99))
        report = RouteReport(route.state, gorushURL: "", at: .seconds(100))
        #expect(report.holdTime == nil && report.holdCondition == nil)
    }

    @Test func `gorush's answer to a probe ends the pause of a held route, whose pushes cannot be the trial`() {
        var route = TestRoute()
        for second in 0..<3 { route.attempt(1...1, .notSent(reason: .unavailable), .away(issue: "gone"), at: Double(second)) }
        #expect(!Self.hold(&route, at: 3) && route.state.turns.breaker.pausedSince != nil)
        route.setWorkers(48, at: 4)
        #expect(route.state.turns.breaker.pausedSince == nil && route.choose(at: 4).isEmpty)
    }
}
