import ArgumentParser
import Operator

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Check in a server's database that each message and each push is accounted for.",
        discussion: "Exit code 1 if a line does not balance. The server may be running.")

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await database.with { database, _ in
            let report = try await ProgressBar.whileRunning(json: output.json) { report in
                try await database.read { try await AuditReport(reading: $0, report: report) }
            }
            try output.print(report)
        }
    }
}
