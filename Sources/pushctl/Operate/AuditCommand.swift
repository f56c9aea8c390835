import ArgumentParser
import Operator

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Check in a server's database that each message and each push is accounted for.",
        discussion: "Exit code 1 if a line does not balance. The server may be running.")

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(try await database.serverDatabase().read { try await AuditReport(reading: $0) })
    }
}
