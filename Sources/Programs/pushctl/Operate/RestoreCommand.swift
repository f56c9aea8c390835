import ArgumentParser
import Operator

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a server's database from a backup.",
        discussion: """
            The server must be stopped, its key file must exist, and its database must not. The server may have sent the waiting pushes of \
            the backup since: they are tried again, and those older than an hour expire.
            """)

    @Argument(help: "The backup, as `pushctl backup` made it; it stays as it is.", completion: .file())
    var file: String

    @Option(help: "The file with the private key of age that opens an encrypted backup.", completion: .file())
    var identityFile: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let paths = try database.paths()
        let report = try await ProgressBar.whileRunning(json: output.json) {
            try await RestoreReport(restoring: file, identityFile: identityFile, to: paths, report: $0)
        }
        try output.print(report)
    }
}
