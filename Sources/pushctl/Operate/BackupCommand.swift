import ArgumentParser
import Operator

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a server's database consistently while the server runs.",
        discussion: "The backup does not contain the key file: keep a copy of it, too. Both together give access to every device token.")

    @Argument(help: "The file to create.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let database = try database.serverDatabase()
        try await ProgressBar.whileRunning { try await database.backUp(to: file, report: $0) }
    }
}
