import Store
import Testing

@testable import Delivery

/// A proxy in front of gorush that takes no pushes, although gorush's configuration can be read.
@Suite struct TurnedAwayTests {
    private static let turnedAway = AttemptOutcome.passing(reason: .proxyAnswered, retryAfter: nil)
    private var route = TestRoute()

    private func warnings(at seconds: Double) -> [RouteCondition.Kind] { route.state.warnings(at: .seconds(seconds)).map(\.kind) }

    @Test mutating func `once no push was taken for a minute, an operator should know, also of devices that have worked`() {
        route.attempt(1...1, Self.turnedAway, .busy(status: 503), at: 10)
        #expect(warnings(at: 69) == [] && route.state.gorushIssues(at: .seconds(69)) == [])
        route.attempt(2...2, Self.turnedAway, .busy(status: 502), at: 69)
        #expect(warnings(at: 70) == [.turnedAway])
        let text = route.state.warnings(at: .seconds(70)).first?.text ?? ""
        #expect(text.hasPrefix("gorush answers 502 to all pushes") && text.contains("while its configuration can be read"), "\(text)")
        // The wait for that moment ends then, although no answer comes.
        #expect(route.state.belief.nextChange(after: .seconds(69)) == .seconds(70))
        #expect(warnings(at: 969) == [], "no push waits any more")
    }

    @Test(arguments: [AttemptOutcome.sent, TestRoute.failure])
    mutating func `a push that gorush takes ends that, whatever Apple or Google says`(outcome: AttemptOutcome) {
        route.attempt(1...1, Self.turnedAway, .busy(status: 503), at: 10)
        route.attempt(2...2, outcome, at: 40)
        #expect(!warnings(at: 100).contains(.turnedAway))
    }

    @Test mutating func `the delays are those of any other passing failure`() {
        var other = TestRoute()
        for seconds in [10.0, 20, 70, 200] {
            route.attempt(1...3, Self.turnedAway, .busy(status: 503), at: seconds)
            other.attempt(1...3, Self.turnedAway, .answered, at: seconds)
            #expect(route.state.turns.nextTime == other.state.turns.nextTime)
        }
    }
}
