import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// Each way out of an attempt gives back what the attempt has taken: the device, gorush's worker, the trial of a paused route.
@Suite(.safetyNet) struct AttemptEndTests {
    /// How an attempt ends.
    enum End: CaseIterable, Sendable {
        case delivered, deviceFails, pushRefused, notTaken, connectionBroke, unanswered, busy
        case overLimit, leaseEnded
        /// The attempt is chosen, and not made.
        case pushHasEnded, nothingDue, dueLater, unchanged, storeFailed
    }

    /// What the route is like when the attempt begins.
    enum Situation: CaseIterable, Sendable { case usual, paused, call }

    private static func route(_ situation: Situation) -> TestRoute {
        var route = TestRoute(workers: 1)
        if situation == .paused {
            for second in 0..<3 { route.attempt(1...1, .notSent(reason: .unavailable), .away(issue: "gone"), at: Double(second)) }
        }
        route.accept(1, trust: situation == .call ? .call : .proven, at: 3)
        return route
    }

    @Test(arguments: End.allCases, Situation.allCases)
    func `after any end of an attempt, its device and another one get their pushes, and the route can stop`(
        end: End, situation: Situation
    ) throws {
        var route = Self.route(situation)
        let choice = try #require(route.choose(at: 3).first)
        #expect((choice.kind == .call) == (situation == .call))
        route.end(choice, end, at: 4)
        route.accept(1, trust: situation == .call ? .call : .proven, at: 4)
        route.accept(2, at: 4)
        var attempted: Set<DeviceCode> = []
        for seconds in stride(from: 5.0, through: 1_000, by: 5) {
            for choice in route.choose(at: seconds) {
                attempted.insert(choice.device)
                route.answer(choice, to: choice.device == TestRoute.device(1) ? 1 : 2, .sent, at: seconds)
            }
        }
        #expect(attempted == [TestRoute.device(1), TestRoute.device(2)])
        route.state.stop()
        #expect(route.state.next(at: .seconds(1_001)) == .stop)
    }

    @Test(arguments: End.allCases) func `a paused route makes the next trial a second after any end of the last one`(end: End) throws {
        var route = Self.route(.paused)
        let trial = try #require(route.choose(at: 3).first)
        route.accept(2, at: 3)
        #expect(route.choose(at: 4).isEmpty)
        route.end(trial, end, at: 4)
        #expect(!route.choose(at: 5).isEmpty)
    }

    @Test(arguments: [
        (End.delivered, true), (.deviceFails, true), (.notTaken, true), (.connectionBroke, true), (.unanswered, true), (.busy, true),
        (.overLimit, true), (.leaseEnded, true), (.pushRefused, false),
    ])
    func `an attempt with an invented bundle id gives its part of the budget back, unless it is refused`(end: End, isFull: Bool) throws {
        var route = TestRoute(workers: 1)
        // No time passes for the budget.
        for number in 1...UnprovenBundleIDBudget.burst {
            route.accept(1, at: Double(number) * 1_000)
            let choice = try #require(route.choose(at: Double(number) * 1_000).first)
            var push = queued([iosPush(1, topic: "invented")])[0]
            push.id = Int64(choice.number)
            #expect(route.state.admitted([push], at: .zero) == [push.id])
            route.end(choice, end, at: Double(number) * 1_000 + 1)
        }
        let others = queued((1...100).map { iosPush($0, topic: "invented") })
        #expect(route.state.admitted(others, at: .zero).count == (isFull ? UnprovenBundleIDBudget.burst : 0))
    }

    @Test(arguments: End.allCases) func `a device has room for two calls again after any end of two`(end: End) {
        var route = TestRoute(workers: 1)
        for _ in 1...2 { route.accept(1, trust: .call, at: 0) }
        for call in route.choose(at: 0) { route.end(call, end, at: 1) }
        // An attempt that was not made has put its call back, once its mark is taken back.
        route.record(at: 1)
        for call in route.choose(at: 1) { route.answer(call, to: 1, .sent, at: 1) }
        for _ in 1...2 { route.accept(1, trust: .call, at: 2) }
        #expect(route.choose(at: 2).count { $0.kind == .call } == 2)
    }
}

extension TestRoute {
    fileprivate mutating func end(_ choice: AttemptChoice, _ end: AttemptEndTests.End, at seconds: Double) {
        func answer(_ outcome: AttemptOutcome, _ health: RouteHealth = .answered) {
            self.answer(choice, to: 1, outcome, health, postedAt: seconds - 1, at: seconds)
        }
        func drop(_ found: DeviceLookUp) { state.drop([(choice, found)], at: .seconds(seconds)) }
        func notSent(_ reason: PushReason) -> [PushAttempt] {
            [PushAttempt(choice: choice, push: queued([androidPush(1)])[0], outcome: .notSent(reason: reason))]
        }
        switch end {
        case .delivered: answer(.sent)
        case .deviceFails: answer(Self.failure)
        case .pushRefused: answer(.failed(FailureTaxonomy.classify("BadPriority")))
        case .notTaken: answer(.notSent(reason: .unavailable), .away(issue: "gone"))
        case .connectionBroke: answer(.broken, .broken)
        case .unanswered: answer(.unknown(reason: .noResponseInTime), .silent)
        case .busy: answer(.passing(reason: .unavailable, retryAfter: nil))
        case .overLimit: state.limited(to: 1, notSent(.overLimit), at: .seconds(seconds))
        case .leaseEnded: state.notPosted(notSent(.leaseEnded), at: .seconds(seconds))
        case .pushHasEnded: drop(.nothing(until: nil))
        case .nothingDue: drop(.nothing(until: nil))
        case .dueLater: drop(.nothing(until: .seconds(seconds + 60)))
        case .unchanged: drop(.unchanged)
        case .storeFailed:
            drop(.unchanged)
            state.storeFailed("full", in: .lookUp, at: .seconds(seconds))
        }
    }
}

extension PushAttempt {
    /// Creates an attempt of a choice.
    fileprivate init(choice: AttemptChoice, push: QueuedPush, outcome: AttemptOutcome) {
        var push = push
        push.id = choice.row ?? Int64(choice.number)
        self.init(choice: choice, push: push, outcome: outcome, at: World.start, postedAt: World.start, answeredAt: World.start)
    }
}
