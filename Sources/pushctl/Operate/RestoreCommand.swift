import ArgumentParser
import Operator

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a server's database from a backup.",
        discussion: """
            The server has to be stopped, its key file has to be there, and no database may be where the backup goes. Pushes that waited \
            when the backup was made may have been sent since: they are tried again, and those older than an hour expire.
            """)

    @Argument(help: "The backup, as `pushctl backup` made it; it stays as it is.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(try await RestoreReport(restoring: file, to: database.paths()))
    }
}
