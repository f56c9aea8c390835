import Observation
import TestSupport
import Testing

private typealias Condition = Observation.Condition

/// What an operator is told, and since when it is so.
@Suite(.safetyNet) struct ReadinessObservationTests {
    private static let doubt = "delivery ios: Apple refuses 3 of 60 devices that got a push in the last two days"
    private var observation = ReadinessObservation()

    private mutating func look(_ seconds: Int, issues: [String] = [], warnings: [String] = []) {
        observation.update(issues: issues.map(Condition.gorush), warnings: warnings.map(Condition.route), at: .seconds(seconds))
    }

    private var issues: [String] { observation.issues.map(\.condition.text) }
    private var warnings: [String] { observation.warnings.map(\.condition.text) }

    @Test mutating func `a warning that comes and goes is there until it was gone for a minute`() {
        for second in stride(from: 0, through: 300, by: 30) {
            look(second, warnings: [Self.doubt])
            look(second + 2)
            #expect(warnings == [Self.doubt] && observation.warnings.map(\.since) == [.zero])
        }
        look(359)
        #expect(warnings == [Self.doubt])
        look(360)
        #expect(warnings == [])
        look(361, warnings: [Self.doubt])
        #expect(observation.warnings.map(\.since) == [.seconds(361)])
    }

    @Test mutating func `a warning about anything else ends at once`() {
        observation.update(issues: [], warnings: [.network("node a: it accepts no connection")], at: .zero)
        #expect(warnings.count == 1)
        look(1)
        #expect(warnings == [])
    }

    @Test mutating func `a warning is the same while its numbers and the words of others change`() {
        look(0, warnings: ["delivery ios: 3 devices failed: ServiceUnavailable"])
        look(1, warnings: ["delivery ios: 40 devices failed: Shutdown"])
        #expect(warnings == ["delivery ios: 40 devices failed: Shutdown"] && observation.warnings.map(\.since) == [.zero])
        look(2, warnings: ["delivery android: 40 devices failed: Shutdown"])
        #expect(observation.warnings.map(\.since) == [.seconds(2), .zero])
    }

    @Test mutating func `a reason ends at once, and takes no warning that was gone along`() {
        look(0, warnings: [Self.doubt, "b"])
        look(10, issues: ["delivery ios: gorush is not reachable"], warnings: ["b"])
        #expect(!observation.isReady && observation.issues.map(\.since) == [.seconds(10)] && warnings == ["b"])
        look(20, issues: ["delivery ios: gorush is not reachable"])
        #expect(observation.issues.map(\.since) == [.seconds(10)])
        look(30)
        #expect(observation.isReady && issues == [] && observation.since == .seconds(30))
    }
}
