/// A rule of 71/STATUS-PUSH-NOTIFICATION-SERVER that can be seen from outside, with the scenario that proves it.
package struct Rule: Sendable {
    /// The strength of a rule.
    package enum Level: String, CaseIterable, Comparable, Sendable {
        /// 71 says MUST, or the protocol does not work without it.
        case must
        /// 71 says SHOULD.
        case should
        /// 71 leaves it open. PROTOCOL.md decides it, so that clients of the reference work with the server.
        case open

        package static func < (left: Level, right: Level) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The name, `group.rule`, which is stable across versions of the kit.
    package let id: String
    package let level: Level
    /// The heading of 71 below which the rule stands; nil if 71 is silent.
    package let paragraph: String?
    /// The place of the rule in this repository's pages.
    package let reference: String
    /// The rule as a sentence.
    package let title: String
    /// Whether the tested server must post to the kit's stub of gorush.
    package let needsGorush: Bool
    let scenario: @Sendable (Play) async throws -> Void

    init(
        _ id: String, _ level: Level, _ paragraph: String?, _ reference: String, _ title: String, needsGorush: Bool = false,
        scenario: @escaping @Sendable (Play) async throws -> Void
    ) {
        self.id = id
        self.level = level
        self.paragraph = paragraph
        self.reference = reference
        self.title = title
        self.needsGorush = needsGorush
        self.scenario = scenario
    }

    /// The part of the id before the full stop.
    package var group: String { String(id.prefix { $0 != "." }) }
}

/// The verdict on a rule.
package enum Verdict: Equatable, Sendable {
    case pass
    /// The server does something else, with a sentence about what was expected and what was seen.
    case fail(String)
    /// The server does what the reference implementation does instead, with a sentence about it.
    case departs(String)
    /// The rule was not played, with the reason.
    case skipped(String)

    /// The verdict without its sentence.
    package var name: String {
        switch self {
        case .pass: "pass"
        case .fail: "fail"
        case .departs: "departs"
        case .skipped: "skipped"
        }
    }

    /// The sentence; nil for a pass.
    package var detail: String? {
        switch self {
        case .pass: nil
        case .fail(let text), .departs(let text), .skipped(let text): text
        }
    }
}

/// The verdict on a rule, and the time that its scenario took.
package struct RuleResult: Sendable {
    package let rule: Rule
    package let verdict: Verdict
    package let duration: Duration
}

/// The end of a scenario whose rule does not hold.
enum Finding: Error {
    case fails(String)
    case departs(String)
}
