import Envelope
import Store
import Testing

/// Numbers of rows that this program has not written, such as those of a damaged disk.
@Suite struct RowNumberTests {
    private static let extremes = [Int64.min, -1, 0, 1, .max]

    @Test(arguments: extremes, extremes) func `an audit of any numbers ends, and balances only if they are equal`(one: Int64, two: Int64) {
        var facts = AuditFacts()
        for milestone in Milestone.allCases {
            (facts.counts[milestone], facts.prunedCounts[milestone], facts.rowCounts[milestone]) = (one, two, one)
        }
        (facts.undecidedCount, facts.openCount, facts.messageRowsEver, facts.pushRowsEver) = (two, one, two, one)
        let audit = Audit(facts)
        #expect(audit.imbalance >= 0)
        #expect(audit.balances == (audit.imbalance == 0))
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max]) func `attempts and refusals of any number can be counted on`(count: Int) {
        let suspicion = Suspicion(
            since: Timestamp(nanoseconds: 0), refusedAt: Timestamp(nanoseconds: 0), refusalCount: count, countedCount: count)
        let refusals = PushRefusals(countedCount: count)
        for stored in [suspicion.refusalCount, suspicion.countedCount, refusals.countedCount] {
            #expect(!stored.addingReportingOverflow(1).overflow && stored >= 0)
        }
        #expect(Suspicion(since: Timestamp(nanoseconds: 0), refusedAt: Timestamp(nanoseconds: 0), refusalCount: 3).refusalCount == 3)
    }
}
