import ArgumentParser
import Operator
import ServerFiles

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a server's database consistently while the server runs.",
        discussion: """
            The backup does not contain the key file: keep a copy of it, too. Both together give access to every device token. \
            An encrypted backup has the format of age: `pushctl restore --identity-file` and `age --decrypt` open it.
            """)

    @Argument(help: "The file to create.", completion: .file())
    var file: String

    @Option(
        name: .customLong("recipient"),
        help: ArgumentHelp(
            "A public key of age, as age-keygen prints it, for which the backup is encrypted. Repeatable. Default: a plain backup.",
            valueName: "key"),
        transform: Self.recipient)
    var recipients: [AgeRecipient] = []

    @OptionGroup var database: ReadingOptions

    func run() async throws {
        try await database.with { database, _ in
            try await ProgressBar.whileRunning { try await database.backUp(to: file, recipients: recipients, report: $0) }
        }
    }

    @Sendable private static func recipient(_ text: String) throws -> AgeRecipient {
        guard let recipient = AgeRecipient(text) else { throw ValidationError("Expected a public key of age, like age1….") }
        return recipient
    }
}
