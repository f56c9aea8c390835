import ArgumentParser
import Envelope
import Operator

struct PushesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes",
        abstract: "Show what waits in a server's database, for how long and why, and what became of a day's pushes.",
        discussion: """
            By route and reason, and the ten oldest pushes with their times, without tokens and texts. The sums since --since are of \
            pushes that the database still has, which is all of the last 48 hours. The server may be running.
            """)

    @Option(
        help: ArgumentHelp("Count pushes that were accepted in the last hours, like 90m or 24h; at most 48h.", valueName: "time"),
        transform: TimeArgument.period)
    var since = Duration.seconds(86_400)

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let now = WallClock.system.now()
        try await database.with { database, _ in
            try output.print(
                try await database.read { try await PushesReport(since: now.advanced(by: .zero - since), at: now, reading: $0) })
        }
    }
}
