import Store
import TestSupport
import Testing

@testable import Delivery

/// What an operator is told while pushes arrive, and when a warning becomes a reason.
@Suite(.safetyNet) struct WarningTests {
    private static let credentials = AttemptOutcome.failed(FailureTaxonomy.classify("InvalidProviderToken"))
    private static let token = AttemptOutcome.failed(FailureTaxonomy.classify("SenderId mismatch"))
    private static let gone = AttemptOutcome.failed(FailureTaxonomy.classify("Unregistered"))

    private var route = TestRoute()

    private func warnings(at seconds: Double) -> [RouteCondition.Kind] { route.state.warnings(at: .seconds(seconds)).map(\.kind) }

    private func text(of kind: RouteCondition.Kind, at seconds: Double) -> String? {
        route.state.warnings(at: .seconds(seconds)).first { $0.kind == kind }?.text
    }

    /// Attempts to a device, one with each outcome, as for a push and its repetitions.
    private mutating func attempt(_ device: Int, _ outcomes: AttemptOutcome..., at seconds: Double) {
        route.accept(device, at: seconds)
        for (index, outcome) in outcomes.enumerated() {
            let time = seconds + 2 * Double(index)
            for choice in route.choose(at: time) where choice.device == TestRoute.device(device) {
                route.answer(choice, to: device, outcome, at: time)
            }
        }
    }

    // MARK: Two gorush behind one address

    @Test mutating func `a refused key is told after five seconds, though two were repaired within minutes`() {
        for begin in [0.0, 120] {
            attempt(1, Self.credentials, at: begin)
            #expect(route.state.belief.rejectsCredentials(at: .seconds(begin + 5)))
            attempt(1, .sent, at: begin + 70)
            #expect(!route.state.belief.rejectsCredentials(at: .seconds(begin + 70)))
        }
        attempt(1, Self.credentials, at: 240)
        #expect(warnings(at: 244) == [] && route.state.belief.rejectsCredentials(at: .seconds(245)))
    }

    @Test mutating func `when the good one of two gorush stops, the refused key is told within a minute`() {
        for round in 0..<3 { attempt(round, Self.credentials, .sent, at: Double(round) * 10) }
        #expect(warnings(at: 30) == [.twoKeys])
        for second in stride(from: 30.0, through: 90, by: 10) { attempt(10 + Int(second), Self.credentials, at: second) }
        #expect(warnings(at: 89) == [.twoKeys] && !route.state.belief.rejectsCredentials(at: .seconds(89)))
        #expect(warnings(at: 90) == [] && route.state.belief.rejectsCredentials(at: .seconds(90)))
        #expect(route.state.belief.issues(at: .seconds(90)).first?.text == "Google rejects gorush's credentials: InvalidProviderToken")
    }

    @Test mutating func `device tokens that are refused and accepted in turn show two gorush with different projects`() {
        for device in 1...40 { attempt(device, .sent, at: 0) }
        for round in 0..<2 { attempt(round + 1, Self.token, .sent, at: 100 + Double(round) * 600) }
        #expect(warnings(at: 710) == [])
        attempt(3, Self.token, .sent, at: 1_300)
        #expect(
            text(of: .twoProjects, at: 1_303)
                == "Google refuses device tokens and accepts them in turn: two gorush behind one address, with different projects or "
                + "environments?")
        #expect(warnings(at: 3_702) == [], "an hour after the first of them")
    }

    @Test mutating func `a project that is wrong for a moment is no pair, however many devices it refuses`() {
        for device in 1...40 { attempt(device, .sent, at: 0) }
        for device in 1...3 { attempt(device, Self.token, at: 100) }
        for device in 1...3 { attempt(device, .sent, at: 110) }
        #expect(!warnings(at: 112).contains(.twoProjects))
    }

    // MARK: Devices

    @Test(arguments: [(2, false), (3, true)])
    mutating func `three of twenty devices that are called gone within ten minutes are told, with what to do`(count: Int, isTold: Bool) {
        for device in 1...20 { attempt(device, .sent, at: 0) }
        for device in 1...count { attempt(device, Self.gone, at: 100 + Double(device)) }
        attempt(20, .sent, at: 110)
        #expect(warnings(at: 111) == (isTold ? [.gone] : []))
        #expect(warnings(at: 760) == [])
        guard isTold else { return }
        #expect(
            text(of: .gone, at: 111)
                == "Google has called 3 of 20 devices that got a push in the last two days gone, within ten minutes, and they are "
                + "unregistered: look at them with pushctl dead-tokens list; if they are not gone, pushctl dead-tokens restore brings them "
                + "back")
    }

    @Test mutating func `less than a tenth of the recent devices is no wave`() {
        for device in 1...40 { attempt(device, .sent, at: 0) }
        for device in 1...3 { attempt(device, Self.gone, at: 100) }
        attempt(40, .sent, at: 110)
        #expect(warnings(at: 111) == [])
    }

    @Test mutating func `tokens that never worked, as after an import, are no wave`() {
        for device in 1...20 { attempt(device, .sent, at: 0) }
        for device in 100..<120 {
            route.accept(device, trust: .unproven, at: 10)
            for choice in route.choose(at: 10) where choice.device == TestRoute.device(device) {
                route.answer(choice, to: device, Self.gone, hasWorked: false, at: 10)
            }
        }
        attempt(1, .sent, at: 11)
        #expect(warnings(at: 12) == [])
    }

    @Test(arguments: [true, false])
    func `a single refused device is told on a new server, and only there`(isNew: Bool) {
        var route = TestRoute(hasDelivered: !isNew)
        route.accept(1, trust: .unproven, at: 0)
        for choice in route.choose(at: 0) {
            route.answer(choice, to: 1, Self.token, hasWorked: false, at: 0)
        }
        #expect(route.state.warnings(at: .seconds(59)).isEmpty)
        let texts = route.state.warnings(at: .seconds(60)).map(\.text)
        let told = "Google has delivered nothing for a minute or more, and refused 1 device that never worked: SenderId mismatch"
        #expect(texts == (isNew ? [told] : []))
    }

    // MARK: The log

    @Test func `registrations that end with their tokens are one line a minute`() {
        var log = RouteLog()
        let report = RouteReport(TestRoute().state, gorushURL: "", at: .zero)
        log.unregistered(1, at: .seconds(10))
        log.unregistered(30, at: .seconds(60))
        #expect(log.lines(for: report, at: .seconds(69)) == [])
        #expect(log.lines(for: report, at: .seconds(70)) == [.unregistered(count: 31)])
        #expect(log.lines(for: report, at: .seconds(200)) == [])
    }
}
