/// Compares the ledger with the rows (RELIABILITY.md I1, I5).
///
/// Three counts must agree: the events in the ledger, the present rows plus those that the ledger counts as pruned, and all rows ever
/// inserted, if the database counts them.
package struct Audit: Sendable, Equatable {
    /// A comparison of two counts that must be equal.
    package struct Line: Sendable, Equatable {
        package var name: String
        package var expected: Int64
        package var found: Int64

        package var balances: Bool { expected == found }
    }

    package private(set) var lines: [Line] = []

    package var balances: Bool { lines.allSatisfy(\.balances) }

    package init(_ facts: AuditFacts) {
        func rows(_ milestone: Milestone) -> Int64 {
            facts.rowCounts[milestone, default: 0].clampedSum(facts.prunedCounts[milestone, default: 0])
        }

        self.init(ledgerOf: facts)
        for milestone in [Milestone.invalid, .ignored, .processed, .sent, .expired, .deadToken, .refused, .discarded, .withdrawn] {
            add("\(milestone.rawValue): counted = rows + pruned", facts.counts[milestone, default: 0], rows(milestone))
        }
        add("rows in a state that does not exist", 0, facts.damagedRowCount)
        add("finished pushes that still hold secrets", 0, facts.leakyRowCount)
    }

    /// Compares only what can be checked without counting finished rows: the ledger with itself and the unfinished rows, and with the rows
    /// ever inserted.
    package init(ledgerOf facts: AuditFacts) {
        func ledger(_ milestones: Milestone...) -> Int64 { milestones.reduce(0) { $0.clampedSum(facts.counts[$1, default: 0]) } }

        add(
            "received = duplicate + invalid + ignored + processed + undecided", ledger(.received),
            ledger(.duplicate, .invalid, .ignored, .processed).clampedSum(facts.undecidedCount))
        add(
            "accepted = merged + coalesced + sent + expired + dead_token + refused + discarded + withdrawn + open", ledger(.accepted),
            ledger(.merged, .coalesced, .sent, .expired, .deadToken, .refused, .discarded, .withdrawn).clampedSum(facts.openCount))
        if let messageRowsEver = facts.messageRowsEver {
            add("messages ever recorded = received - duplicate", Self.rowsEver(facts).messages, messageRowsEver)
        }
        if let pushRowsEver = facts.pushRowsEver {
            add("pushes ever queued = accepted - merged - coalesced", Self.rowsEver(facts).pushes, pushRowsEver)
        }
    }

    /// The number of rows that were ever inserted by the ledger.
    package static func rowsEver(_ facts: AuditFacts) -> (messages: Int64, pushes: Int64) {
        func count(_ milestone: Milestone) -> Int64 { facts.counts[milestone, default: 0] }
        return (
            count(.received).clampedDifference(count(.duplicate)),
            count(.accepted).clampedDifference(count(.merged)).clampedDifference(count(.coalesced))
        )
    }

    /// How far all lines together are out of balance. 0 means that they balance.
    package var imbalance: Int64 { lines.reduce(0) { $0.clampedSum(Int64(clamping: $1.expected.clampedDifference($1.found).magnitude)) } }

    private mutating func add(_ name: String, _ expected: Int64, _ found: Int64) {
        lines.append(Line(name: name, expected: expected, found: found))
    }
}

/// The numbers that an audit compares, all read from the same database state.
package struct AuditFacts: Sendable, Equatable {
    /// The ledger.
    package var counts: [Milestone: Int64] = [:]
    package var prunedCounts: [Milestone: Int64] = [:]
    /// The decided messages and finished pushes that are not pruned.
    package var rowCounts: [Milestone: Int64] = [:]
    package var undecidedCount: Int64 = 0
    package var openCount: Int64 = 0
    /// The messages ever inserted, as the database itself counts them, or nil if it doesn't.
    package var messageRowsEver: Int64?
    /// The pushes ever inserted, as the database itself counts them, or nil if it doesn't.
    package var pushRowsEver: Int64?
    package var damagedRowCount: Int64 = 0
    package var leakyRowCount: Int64 = 0
    /// The rows that servers have set aside, each with its kind (``DamagedRowKind``). Messages and pushes are undecided, unpublished or
    /// open as well.
    package var setAside: [String] = []
    /// What each server that shares the database has done, by its name. Empty if the database isn't shared.
    package var servers: [String: ServerWork] = [:]

    package init() {}
}

/// A server's part in a shared database. It doesn't balance by itself, because servers take over each other's work.
package struct ServerWork: Sendable, Equatable {
    /// The events that the server has counted in the ledger.
    package var counts: [Milestone: Int64] = [:]
    package var undecidedCount: Int64 = 0
    package var openCount: Int64 = 0

    package init() {}
}
