import ArgumentParser
import Operator
import Settings

struct DeadTokensCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-tokens",
        abstract: "List and restore registrations that the server removed for dead device tokens.",
        subcommands: [List.self, Restore.self], defaultSubcommand: List.self)

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the removed registrations, newest first, without tokens.")

        @Option(help: "The maximum number of entries.")
        var limit = 100

        @OptionGroup var database: ReadingOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await database.with { database, _ in
                try output.print(try await database.read { try await DeadTokensReport(limit: limit, reading: $0) })
            }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore registrations through the running server.",
            discussion: "A later registration or unregistration by the owner stays in force.")

        @Argument(help: "The ids of entries in the list.")
        var ids: [Int64] = []

        @Flag(help: "Restore all entries.")
        var all = false

        @Option(help: ArgumentHelp("The server's admin endpoints (else admin.listen of the settings).", valueName: "url"))
        var admin: String?

        @OptionGroup var database: ReadingOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard all != !ids.isEmpty else { throw ValidationError("Name what to restore, or say --all.") }
        }

        func run() async throws {
            try await database.with { database, settings in
                try output.print(
                    try await RestoredDeadTokensReport(
                        restoring: all ? nil : ids, admin: admin ?? settings.source.adminURL, database: database))
            }
        }
    }
}
