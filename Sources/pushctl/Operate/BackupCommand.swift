import ArgumentParser
import Foundation
import SQLiteStore

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a server's database, consistently, while the server runs.",
        discussion: "The key file is not in it: keep a copy of that too. Whoever has both can read every device token.")

    @Argument(help: "The file to write; it must not be there yet.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        guard !FileManager.default.fileExists(atPath: file) else { throw Failure.usage("\(file) is there already") }
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw Failure.configuration("\(file) cannot be made")
        }
        do {
            try await database.withStore { try await $0.backUp(to: file) }
        } catch {
            try? FileManager.default.removeItem(atPath: file)
            throw error
        }
    }
}
