import ArgumentParser
import Bytes
import Envelope
import Operator
import PushClient

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Count the registrations of a server, or show those of one key, without tokens.")

    @Option(help: "The owner's public key (0x04… or compressed) or the 128 hex digits of its hash.", transform: HexArgument.owner)
    var owner: Owner?

    @Option(
        help: ArgumentHelp(
            "Count only installations that have registered, renewed or unregistered since then, like 2026-11-24 or 2026-11-24T12:00:00Z.",
            valueName: "time"),
        transform: TimeArgument.time)
    var since: Timestamp?

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard owner == nil || since == nil else {
            throw ValidationError("--since counts installations, and --owner shows those of one key.")
        }
    }

    func run() async throws {
        try await database.with { database, _ in
            guard let owner else {
                return try output.print(try await database.read { try await RegistrationCountsReport(since: since, reading: $0) })
            }
            let keyHash = owner.keyHash.bytes
            try output.print(try await database.read { try await RegistrationsReport(of: keyHash, reading: $0) })
        }
    }
}
