import Conformance

extension RuleResult {
    var text: String { "\(rule.id): \(verdict.name) \(verdict.detail ?? "")" }
}
