import Store
import TestSupport
import Testing

/// What an audit says of numbers that disagree.
@Suite(.safetyNet) struct AuditTests {
    @Test(arguments: [
        ("received = duplicate + invalid + ignored + processed + undecided", 100, 82),
        ("accepted = merged + coalesced + sent + expired + dead_token + refused + discarded + withdrawn + open", 50, 39),
        ("messages ever recorded = received - duplicate", 90, 91),
        ("pushes ever queued = accepted - merged - coalesced", 43, 44),
        ("sent: counted = rows + pruned", 30, 29),
        ("rows in a state that does not exist", 0, 8),
        ("finished pushes that still hold secrets", 0, 9),
    ])
    func `a line has what the ledger makes one expect, and what was found`(name: String, expected: Int64, found: Int64) throws {
        var facts = AuditFacts()
        facts.counts = [
            .received: 100, .duplicate: 10, .invalid: 20, .ignored: 5, .processed: 40, .accepted: 50, .merged: 4, .coalesced: 3, .sent: 30,
        ]
        (facts.undecidedCount, facts.openCount) = (7, 2)
        (facts.rowCounts, facts.prunedCounts) = ([.sent: 25], [.sent: 4])
        (facts.messageRowsEver, facts.pushRowsEver) = (91, 44)
        (facts.damagedRowCount, facts.leakyRowCount) = (8, 9)
        let line = try #require(Audit(facts).lines.first { $0.name == name })
        #expect(line.expected == expected && line.found == found)
    }
}
