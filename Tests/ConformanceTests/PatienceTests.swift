import Conformance
import Envelope
import PushProtocol
import TestSupport
import Testing
import Wire

/// Servers that are slow: late is not wrong, and missing is not late. The time is a test's.
@Suite(.safetyNet)
struct PatienceTests {
    private static let rules = Rule.all.filter {
        ["register.ios", "query.info", "query.topic", "push.accepted", "push.repeated", "envelope.unsigned-frame", "delivery.ios"]
            .contains($0.id)
    }

    private func results(_ behaviour: Behaviour, _ rules: [Rule] = Self.rules) async throws -> [RuleResult] {
        let clock = ManualClock()
        let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
        // The time passes from one read of the node to the next, and at the end of longer waits, so that no answer on its way is overtaken.
        let passing = Task {
            while !Task.isCancelled {
                await clock.sleepers { remaining in remaining.first.map { $0 <= .seconds(1) } == true }
                clock.advance(by: .milliseconds(250))
            }
        }
        defer { passing.cancel() }
        return try await play(
            rules, against: behaviour, timeout: .seconds(10), gracePeriod: .seconds(1), clock: clock,
            wallClock: WallClock { start.advanced(by: clock.now.offset) })
    }

    @Test(arguments: [0.5, 8, 30]) func `a server that is always slow passes, however slow`(seconds: Double) async throws {
        var behaviour = Behaviour()
        behaviour.delays = { _ in .seconds(seconds) }
        for result in try await results(behaviour) {
            if seconds < 10 { #expect(result.verdict == .pass, "\(result.text)") }
            switch result.verdict {
            case .pass, .late: break
            default: Issue.record("\(result.text)")
            }
        }
    }

    @Test func `an answer that is slow once is late, and its rule is not judged`() async throws {
        var behaviour = Behaviour()
        // Nothing tells the kit before that queries are slow.
        behaviour.delays = { $0.type == .pushNotificationQueryResponse ? .seconds(30) : .zero }
        let results = try await results(behaviour)
        for result in results {
            switch result.rule.id {
            case "query.info", "query.topic":
                guard case .late(let text) = result.verdict else {
                    Issue.record("\(result.text)")
                    continue
                }
                #expect(text.contains("a query response took 3") && text.hasSuffix("clients wait 3.0 s"))
                #expect(!result.requests.isEmpty)
            default: #expect(result.verdict == .pass, "\(result.text)")
            }
        }
    }

    @Test func `a rule that could not ask in time is late`() async throws {
        var behaviour = Behaviour()
        behaviour.delays = { $0.type == .pushNotificationRegistrationResponse ? .seconds(3) : .zero }
        behaviour.answersRepeatedQueries = false
        behaviour.remembersQueries = .seconds(2)
        let results = try await results(behaviour, Rule.all.filter { $0.id == "query.repeated" })
        #expect(results.count == 1)
        for result in results {
            guard case .late(let text) = result.verdict else {
                Issue.record("\(result.text)")
                continue
            }
            #expect(text.hasPrefix("the same query came again only after "))
        }
    }

    @Test func `rules about bundle ids are skipped at a server of one app`() async throws {
        var behaviour = Behaviour()
        behaviour.policy.apnTopics = ["im.status.ethereum"]
        let ids = ["delivery.new-bundle-id", "spelling.bundle-id"]
        let results = try await results(behaviour, Rule.all.filter { ids.contains($0.id) })
        #expect(results.map(\.verdict) == ids.map { _ in .skipped("the server serves no other bundle id") })
    }

    @Test(arguments: [MessageType.pushNotificationQueryResponse, .pushNotificationResponse])
    func `an answer that never comes is missing, whether others of its kind come or not`(type: MessageType) async throws {
        var behaviour = Behaviour()
        behaviour.delays = { $0.type == type ? nil : .zero }
        let ids = type == .pushNotificationResponse ? ["push.accepted", "push.repeated"] : ["query.info", "query.topic"]
        for result in try await results(behaviour) where ids.contains(result.rule.id) {
            guard case .fail(let text) = result.verdict else {
                Issue.record("\(result.text)")
                continue
            }
            #expect(text.contains("none arrived"))
        }
    }

    @Test func `a departure by silence is one only if the answer never comes`() async throws {
        var silent = Behaviour()
        silent.listens = { $0 != .query(.prefixed) }
        let departing = try await results(silent).filter { if case .departs = $0.verdict { true } else { false } }
        #expect(departing.map(\.rule.id) == ["query.topic"])
    }
}
