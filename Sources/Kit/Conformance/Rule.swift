/// A rule of 71/STATUS-PUSH-NOTIFICATION-SERVER that can be seen from outside, with the scenario that proves it.
package struct Rule: Sendable {
    /// How strictly a rule must be followed.
    package enum Level: String, CaseIterable, Comparable, Sendable {
        /// The specification says MUST, or defines the field.
        case must
        /// The specification says SHOULD.
        case should
        /// The specification is silent, open or contradicts itself. PROTOCOL.md decides, so that reference clients work with the server.
        case ours

        package static func < (left: Level, right: Level) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The sentence of 71 that a rule follows from.
    package struct Place: Sendable {
        /// The heading above the sentence.
        package let heading: String
        /// The words that decide, as they are in 71.
        package let quote: String

        static func under(_ heading: String, _ quote: String) -> Place { Place(heading: heading, quote: quote) }
    }

    /// The name, `group.rule`, which later versions of the kit keep.
    package let id: String
    package let level: Level
    /// The place in 71, or nil if the rule goes beyond 71.
    package let place: Place?
    /// Where this repository's pages describe the rule.
    package let reference: String
    /// The rule as a sentence.
    package let title: String
    /// Whether the tested server must post to the kit's stub of gorush.
    package let needsGorush: Bool
    /// Whether the scenario restarts the tested server.
    package let needsRestart: Bool
    /// Whether the scenario needs a second shard.
    package let needsSecondShard: Bool
    /// What the scenario's owners have registered before it. The scenario runs once for each history.
    let histories: [RegistrationHistory]
    let scenario: @Sendable (Play) async throws -> Void

    init(
        _ id: String, _ level: Level, _ place: Place?, _ reference: String, _ title: String, needsGorush: Bool = false,
        needsRestart: Bool = false, needsSecondShard: Bool = false, histories: [RegistrationHistory] = [.first],
        scenario: @escaping @Sendable (Play) async throws -> Void
    ) {
        self.id = id
        self.level = level
        self.place = place
        self.reference = reference
        self.title = title
        self.needsGorush = needsGorush
        self.needsRestart = needsRestart
        self.needsSecondShard = needsSecondShard
        self.histories = histories
        self.scenario = scenario
    }

    /// The id up to the full stop.
    package var group: String { String(id.prefix { $0 != "." }) }

    /// Every rule, in the order in which the pages describe them.
    package static let all: [Rule] =
        registrations + refusals + versions + unregistrations + replies + queries + pushRequests + gorush + filters + waiting + envelopes
        + segments + state + sizes + chance + times + shards + restarts

    /// Returns the rules at this level and at stronger levels.
    package static func all(upTo level: Level) -> [Rule] { all.filter { $0.level <= level } }
}

/// The verdict on a rule.
package enum Verdict: Equatable, Sendable {
    case pass
    /// The tested server does something else. The sentence says what was expected and what was observed.
    case fail(String)
    /// The tested server always does what the reference implementation does instead. The sentence describes it.
    case departs(String)
    /// An answer came later than the kit waited for it, or the kit asked too late, so the rule is not judged. The sentence says when.
    case late(String)
    /// The rule did not run, or the server has nothing that it is about, for this reason.
    case skipped(String)

    /// The verdict without its sentence.
    package var name: String {
        switch self {
        case .pass: "pass"
        case .fail: "fail"
        case .departs: "departs"
        case .late: "late"
        case .skipped: "skipped"
        }
    }

    /// The sentence, or nil for a pass.
    package var detail: String? {
        switch self {
        case .pass: nil
        case .fail(let text), .departs(let text), .late(let text), .skipped(let text): text
        }
    }
}

/// The verdict on a rule, and the time that its scenarios took.
package struct RuleResult: Sendable {
    package let rule: Rule
    package let verdict: Verdict
    package let duration: Duration
    /// The newest requests of the scenario that failed or was late. Empty for other verdicts.
    package var requests: [SentRequest] = []
}

/// A failed expectation, which ends a scenario.
struct Finding: Error {
    let sentence: String

    static func fails(_ sentence: String) -> Finding { Finding(sentence: sentence) }
}

/// The end of a scenario that could not ask what its rule is about: it must not count as passed.
enum Unasked: Error {
    /// The server, its node or the kit was too slow for the question.
    case late(String)
    /// The server leaves out what the rule is about, as it may.
    case skipped(String)

    static let otherBundleID = skipped("the server serves no other bundle id")
    static let unlimited = skipped("the server lets no push wait")
}
