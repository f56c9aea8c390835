package import Store

/// What comparing the ledger with the rows has found, over all servers on a database, with each server's part.
package struct AuditReport: Report {
    private struct Line: Encodable {
        var name: String
        var expected: Int64
        var found: Int64
        var balances: Bool
    }

    private struct Server: Encodable {
        struct Count: Encodable {
            var event: String
            var count: Int64
        }

        var name: String
        var counts: [Count]
        var undecidedMessages: Int64
        var openPushes: Int64
    }

    private struct Content: Encodable {
        var lines: [Line]
        var setAside: Int
        var setAsideRows: [String]
        var servers: [Server]
    }

    private static let maximumNameCount = 20

    private let content: Content

    package init(reading store: any OperatorViews, report: @escaping Progress.Report) async throws {
        let facts = try await store.auditFacts { done, total in
            report(Progress(step: "reading", done: done, total: total, unit: .rows))
        }
        content = Content(
            lines: Audit(facts).lines.map { Line(name: $0.name, expected: $0.expected, found: $0.found, balances: $0.balances) },
            setAside: facts.setAside.count, setAsideRows: facts.setAside,
            servers: facts.servers.sorted { $0.key < $1.key }.map { name, work in
                Server(
                    name: name,
                    counts: Milestone.allCases.compactMap { milestone in
                        work.counts[milestone].map { Server.Count(event: milestone.rawValue, count: $0) }
                    }, undecidedMessages: work.undecidedCount, openPushes: work.openCount)
            })
    }

    package var lines: [String] {
        content.lines.map { "\($0.balances ? "ok  " : "BAD ") \($0.name): \($0.expected)\($0.balances ? "" : ", found \($0.found)")" }
            + (content.setAside == 0 ? [] : [warning])
            + content.servers.map { server in
                let work = ["undecided \(server.undecidedMessages)", "open \(server.openPushes)"]
                let parts = server.counts.map { "\($0.event) \($0.count)" } + work
                return "server \(server.name): \(parts.joined(separator: ", "))"
            }
    }

    /// Names the damaged rows, or as many as an operator looks at.
    private var warning: String {
        let names = content.setAsideRows.prefix(Self.maximumNameCount) + (content.setAside > Self.maximumNameCount ? ["…"] : [])
        return "warning: \(content.setAside) damaged rows are set aside (\(names.joined(separator: ", "))); the server reads them again "
            + "after its next start"
    }

    package var failure: Failure? {
        content.lines.allSatisfy(\.balances)
            ? nil
            : .failed("The ledger does not balance: another program changed the database, or it is a defect. Keep a copy and report it.")
    }

    package func encode(to encoder: any Encoder) throws { try content.encode(to: encoder) }
}
