import ArgumentParser
import Operator

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take over the clients of another server.",
        subcommands: [StatusGo.self])

    struct StatusGo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status-go",
            abstract: "Take over the registrations of a status-go server, so that its clients notice no change.",
            discussion: """
                Both servers must be stopped, and this one must have no database yet. The other database is only read, with the -wal file \
                next to it. Registrations, tombstones, grants and the newest handled requests are taken. The private key is not in the \
                database: name its file with --key-file. push-notification-server gets the key by its flag -identity or by \
                STATUS_GO_NODE_KEY, statusd by NodeKey in its JSON configuration file. The key is checked, and installed as the server's \
                if the server has none. A registration that this server cannot serve keeps its version as a tombstone. A killed import \
                begins again.
                """)

        @Argument(
            help: ArgumentHelp(
                "The other server's database: UUID-app.db of push-notification-server, UUID.db of statusd, or a decrypted one.",
                valueName: "source"),
            completion: .file())
        var source: String

        @Option(help: "The file with the other server's private key: 64 hex digits, mode 0600.", completion: .file())
        var keyFile: String

        @OptionGroup var database: DatabaseOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let paths = try database.paths()
            let (source, keyFile) = (source, keyFile)
            let report = try await ProgressBar.whileRunning(json: output.json) {
                try await StatusGoImportReport(importing: source, givenKeyFile: keyFile, to: paths, report: $0)
            }
            try output.print(report)
        }
    }
}
