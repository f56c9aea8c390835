import ArgumentParser
import Envelope
import Operator

struct HoldCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Hold a platform or a route for a while: its pushes wait, and calls do not.",
        discussion: """
            Servers notice it within seconds, and those that start later know of it. It ends at its time, by `pushctl resume`, or when the \
            queue is three quarters full, because what comes after that would be refused. A second hold replaces the first. A server of an \
            earlier version would post on, so while one shares the database the command fails.
            """)

    @Argument(help: ArgumentHelp("A route, or a platform (ios, android) for all its routes.", valueName: "platform|route"))
    var name: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long, like 30s, 10m or 1h: at most half of gorush.pushLifetime.", valueName: "time"))
    var time: String

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await database.with { database, settings in
            let routes = try NamedRoutes(name, of: settings)
            guard let length = TimeArgument.period(time, most: routes.maximumHold) else {
                throw Failure.usage("--for takes a time like 30s, 10m or 1h, from 1s to \(TimeArgument.text(routes.maximumHold)).")
            }
            try output.print(
                try await database.changeBesideServers {
                    try await HoldReport(holding: routes, for: length, at: WallClock.system.now(), in: $0)
                })
        }
    }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "End the hold of a platform or a route.",
        discussion: "Servers post what has waited within seconds.")

    @Argument(help: ArgumentHelp("A route, or a platform (ios, android) for all its routes.", valueName: "platform|route"))
    var name: String

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await database.with { database, settings in
            let routes = try NamedRoutes(name, of: settings)
            try output.print(try await database.changeBesideServers { try await ResumeReport(resuming: routes, in: $0) })
        }
    }
}
