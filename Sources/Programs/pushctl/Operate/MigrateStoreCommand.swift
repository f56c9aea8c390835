import ArgumentParser
import Operator
import ServerFiles

struct MigrateStoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate-store",
        abstract: "Copy a server's database into PostgreSQL, or from PostgreSQL into a file.",
        discussion: """
            The servers must be stopped, and the destination must be a new database. Sealed values stay sealed, and the key files stay the \
            server's. The command compares both databases, and the new one is complete or cannot be used. At the end it marks the source, \
            so that no server starts on it; --undo lifts the mark, and puts one on the copy. A killed command can be repeated.
            """)

    @Option(
        help: ArgumentHelp("The new database: a URL like postgresql://…, or the path of a file.", valueName: "database"),
        completion: .file())
    var to: String?

    @Flag(help: "Copy nothing, and lift the mark of a moved database. What has happened at the other one since is lost to this one.")
    var undo = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard undo == (to == nil) else {
            throw ValidationError("Name the new database with --to, or lift the mark of this one with --undo.")
        }
    }

    func run() async throws {
        let paths = try database.paths()
        guard let to else { return try output.print(try await UndoneMove(of: paths)) }
        var target = paths
        target.use(database: to)
        let (source, destination) = (ServerDatabase(paths), ServerDatabase(target))
        let report = try await ProgressBar.whileRunning(json: output.json) {
            try await MigrationReport(from: source, to: destination, report: $0)
        }
        try output.print(report)
    }
}
