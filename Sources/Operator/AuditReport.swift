package import Store

/// The result of comparing a server's ledger with its rows.
package struct AuditReport: Report {
    private struct Line: Encodable {
        var name: String
        var expected: Int64
        var found: Int64
        var balances: Bool
    }

    private let entries: [Line]

    package init(reading store: any OperatorViews, report: @escaping Progress.Report) async throws {
        let facts = try await store.auditFacts { done, total in
            report(Progress(step: "reading", done: done, total: total, unit: .rows))
        }
        entries = Audit(facts).lines.map {
            Line(name: $0.name, expected: $0.expected, found: $0.found, balances: $0.balances)
        }
    }

    package var lines: [String] {
        entries.map { "\($0.balances ? "ok  " : "BAD ") \($0.name): \($0.expected)\($0.balances ? "" : ", found \($0.found)")" }
    }

    package var failure: Failure? {
        entries.allSatisfy(\.balances)
            ? nil
            : .failed("The ledger does not balance: another program changed the database, or it is a defect. Keep a copy and report it.")
    }

    package func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }
}
