import PushProtocol
import Store
import Testing

struct AuditFactsTests {
    @Test func `each message is undecided, decided or damaged`() {
        var facts = AuditFacts()
        facts.addMessages(state: 0, reason: nil, isUndecided: true, count: 1)
        facts.addMessages(state: 0, reason: nil, isUndecided: false, count: 2)
        facts.addMessages(state: 1, reason: IgnoreReason.invalid.rawValue, isUndecided: false, count: 4)
        facts.addMessages(state: 1, reason: 99, isUndecided: false, count: 8)
        facts.addMessages(state: 2, reason: nil, isUndecided: false, count: 16)
        facts.addMessages(state: 3, reason: nil, isUndecided: true, count: 32)
        facts.addMessages(state: 9, reason: nil, isUndecided: false, count: 64)
        #expect(facts.undecidedCount == 1)
        #expect(facts.rowCounts == [.invalid: 4, .processed: 16])
        #expect(facts.damagedRowCount == 2 + 8 + 32 + 64)
    }

    @Test func `each push is open, finished or damaged`() {
        var facts = AuditFacts()
        for (bit, state) in OpenPushState.allCases.enumerated() {
            facts.addPushes(state: state.rawValue, isOpen: true, count: 1 << bit)
            facts.addPushes(state: state.rawValue, isOpen: false, count: 100)
        }
        for outcome in PushOutcome.allCases {
            facts.addPushes(state: outcome.rawValue, isOpen: false, count: 1)
            facts.addPushes(state: outcome.rawValue, isOpen: true, count: 1_000)
        }
        #expect(facts.openCount == 7)
        #expect(facts.rowCounts == Dictionary(uniqueKeysWithValues: PushOutcome.allCases.map { ($0.milestone, 1) }))
        #expect(facts.damagedRowCount == 300 + 6_000)
    }
}
