import ArgumentParser
import Operator
import ServerFiles

struct MigrateStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate-store",
        abstract: "Copy a server's database into PostgreSQL, or from PostgreSQL into a file.",
        discussion: """
            The servers must be stopped, and the destination must be a new database. Sealed values stay sealed, and the key files stay the \
            server's. The source is not changed. The command compares both databases, and the new one is complete or cannot be used. A \
            killed copy begins again.
            """)

    @Option(
        help: ArgumentHelp("The new database: a URL like postgresql://…, or the path of a file.", valueName: "database"),
        completion: .file())
    var to: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let paths = try database.paths()
        var target = paths
        target.use(database: to)
        let (source, destination) = (ServerDatabase(paths), ServerDatabase(target))
        let report = try await ProgressBar.whileRunning(json: output.json) {
            try await MigrationReport(from: source, to: destination, report: $0)
        }
        try output.print(report)
    }
}
