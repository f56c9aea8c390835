import ArgumentParser
import Operator

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a server's database, consistently, while the server runs.",
        discussion: "The key file is not in it: keep a copy of that too. Whoever has both can read every device token.")

    @Argument(help: "The file to write; it must not be there yet.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await database.serverDatabase().backUp(to: file)
    }
}
