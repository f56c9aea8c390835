import Conformance
import Foundation
import TestServers
import TestSupport
import Testing

/// The kit against servers with one fault each. `CONFORMANCE_MUTANTS=all` plays all of them (Scripts/test --long).
@Suite(.safetyNet)
struct MutantTests {
    /// The mutants of the quick test, one for each stage of a server.
    private static let few = [
        "accepts V 27 and 28", "compares versions as signed numbers", "shows every client the token despite a list",
        "posts a topic of its own for Android", "posts a wrong type where no rule looks", "does not reply to repeated requests",
        "checks no hash of segments", "merges by message id and owner", "serves one owner per topic", "keeps 1,000 contacts",
        "does not pad X", "marks refusals as ephemeral", "tries the filters before the access token", "drops pushes beyond its bucket",
    ]
    private static let played =
        ProcessInfo.processInfo.environment["CONFORMANCE_MUTANTS"] == "all"
        ? Mutant.all : Mutant.all.filter { few.contains($0.name) }

    @Test func `a model server without a fault passes every rule`() async throws {
        let results = try await play(Rule.all, against: Behaviour(), timeout: TestNode.patience)
        #expect(results.map(\.rule.id) == Rule.all.map(\.id))
        for result in results where result.verdict != .pass { Issue.record("\(result.text)") }
    }

    @Test(arguments: played)
    func `the rules that judge a wrong step find the mutant`(_ mutant: Mutant) async throws {
        let rules = Rule.all.filter { (mutant.rules + mutant.otherRules).contains($0.id) }
        let results = try await play(rules, against: mutant.behaviour, timeout: mutant.timeout, reception: mutant.reception)
        #expect(results.count == rules.count)
        for result in results where mutant.rules.contains(result.rule.id) {
            switch (mutant.finding, result.verdict) {
            case (.fails, .fail), (.departs, .departs): break
            default: Issue.record("\(mutant.name): \(result.text)")
            }
        }
    }

    @Test func `a server that behaves as the reference fails no rule`() async throws {
        let results = try await play(Rule.all, against: .reference, timeout: .seconds(3))
        for result in results {
            if case .fail = result.verdict { Issue.record("\(result.text)") }
        }
        let departing = results.filter { if case .departs = $0.verdict { true } else { false } }.map(\.rule.id)
        #expect(
            departing == [
                "refusal.undecryptable", "refusal.version-zero", "refusal.token-type-zero", "refusal.token-type-unknown",
                "refusal.two-mistakes", "refusal.no-apn-topic", "version.64-bit", "version.in-query", "unregister.no-query",
                "unregister.unknown", "query.allowed-keys", "query.server-key", "query.topic", "query.unknown", "push.type-zero",
                "push.repeated", "push.two-mistakes", "push.decided-anew", "delivery.android-topic", "delivery.data", "delivery.empty-data",
                "delivery.two-chats", "delivery.repeated-message", "delivery.named-twice", "delivery.one-device",
                "delivery.newest-installation", "filter.disabled", "envelope.unsigned-frame", "envelope.unsigned-message",
                "state.same-topic", "chance.topic-key", "time.query", "restart.topics",
            ])
    }

    @Test func `every rule finds a mutant, and the mutants of the quick test exist`() {
        let found = Set(Mutant.all.flatMap(\.rules))
        #expect(Rule.all.filter { !found.contains($0.id) }.map(\.id) == [])
        #expect(found.subtracting(Rule.all.map(\.id)) == [])
        #expect(Set(Mutant.all.map(\.name)).count == Mutant.all.count)
        #expect(Mutant.all.count >= 269)
        #expect(Set(Self.few).subtracting(Mutant.all.map(\.name)) == [])
    }
}
