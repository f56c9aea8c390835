import Conformance
import Testing

/// A server with one fault, and the rules that must find it.
struct Mutant: Sendable, CustomTestStringConvertible {
    enum Finding: Sendable {
        case fails
        /// The mutant behaves like the reference.
        case departs
    }

    /// The model has handled all messages long before, so a missing reply never comes.
    private static let timeout = Duration.seconds(3)

    let name: String
    let finding: Finding
    /// The ids of the rules. Each of them must find the mutant.
    let rules: [String]
    /// The ids of further rules, in which the mutant follows the rule from which it departs in the others.
    let otherRules: [String]
    /// How the kit reads the mutant's replies.
    let reception: ConformanceNode.Reception
    /// How long the kit waits.
    let timeout: Duration
    let change: @Sendable (inout Behaviour) -> Void

    init(
        _ name: String, _ finding: Finding = .fails, _ rules: String..., beside otherRules: [String] = [],
        through reception: ConformanceNode.Reception = .store, timeout: Duration = Self.timeout,
        change: @escaping @Sendable (inout Behaviour) -> Void
    ) {
        self.init(name, finding, all: rules, beside: otherRules, through: reception, timeout: timeout, change: change)
    }

    init(
        _ name: String, _ finding: Finding, all rules: [String], beside otherRules: [String] = [],
        through reception: ConformanceNode.Reception = .store, timeout: Duration = Self.timeout,
        change: @escaping @Sendable (inout Behaviour) -> Void
    ) {
        self.name = name
        self.finding = finding
        self.rules = rules
        self.otherRules = otherRules
        self.reception = reception
        self.timeout = timeout
        self.change = change
    }

    var testDescription: String { name }

    var behaviour: Behaviour {
        var behaviour = Behaviour()
        change(&behaviour)
        return behaviour
    }

    static let all =
        registrations + versions + later + replies + queries + pushes + notifications + requests + sizes + envelopes + segments + state
        + limits + waiting + chance + restarts + shards
}
