import ArgumentParser
import SQLiteStore
import Store

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Proves from a server's database that every message and every push is accounted for.",
        discussion: "Exit code 1 if a line does not balance. The server may be running.")

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    private struct Line: Encodable {
        var name: String
        var expected: Int64
        var found: Int64
        var balances: Bool
    }

    func run() async throws {
        let audit = Audit(try await database.withStore { try await $0.auditFacts() })
        let lines = audit.lines.map { Line(name: $0.name, expected: $0.expected, found: $0.found, balances: $0.balances) }
        try output.print(lines) {
            lines.map { "\($0.balances ? "ok  " : "BAD ") \($0.name): \($0.expected)\($0.balances ? "" : ", found \($0.found)")" }
        }
        guard audit.balances else {
            throw Failure.failed("The books do not balance: somebody changed the database, or this is a defect. Keep a copy and report it.")
        }
    }
}
