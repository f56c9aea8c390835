import ArgumentParser
import Operator

struct DeadTokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-tokens",
        abstract: "Shows what a server unregistered because the device token was dead, and brings it back.",
        subcommands: [List.self, Restore.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists them, the newest first; tokens are never shown.")

        @Option(help: "How many at the most.")
        var limit = 100

        @OptionGroup var database: DatabaseOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try output.print(try await database.serverDatabase().read { try await DeadTokensReport(limit: limit, reading: $0) })
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Brings registrations back, through the running server.",
            discussion: "What its owner has registered or unregistered since stays as the owner wants it.")

        @Argument(help: "Numbers from the list.")
        var ids: [Int64] = []

        @Flag(help: "All of them.")
        var all = false

        @Option(help: "The server's admin endpoints.")
        var admin = "http://127.0.0.1:8646"

        @OptionGroup var database: DatabaseOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard all != !ids.isEmpty else { throw ValidationError("Name what to restore, or say --all.") }
        }

        func run() async throws {
            try output.print(
                try await RestoredDeadTokensReport(restoring: all ? nil : ids, admin: admin, database: database.serverDatabase()))
        }
    }
}
