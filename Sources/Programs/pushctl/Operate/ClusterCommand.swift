import ArgumentParser
import Envelope
import Operator

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "List the servers that share a PostgreSQL database: leases, work and jobs.",
        discussion: "A fenced server has ended. The others take over its work; its number is kept for a week.")

    @Flag(help: "List fenced servers as well.")
    var all = false

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await database.with { database, _ in
            let report = try await database.readCluster {
                try await ClusterReport(reading: $0, includesFenced: all, at: WallClock.system.now())
            }
            try output.print(report)
        }
    }
}
