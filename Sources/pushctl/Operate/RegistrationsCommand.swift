import ArgumentParser
import Envelope
import Operator
import PushClient
import StatusCrypto

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Count the registrations of a server, or show those of one key, without tokens.")

    @Option(help: "A public key (0x04… or compressed) or the 128 hex digits of its hash.", transform: HexArgument.person)
    var of: Person?

    @Option(
        help: ArgumentHelp(
            "Count only installations that have registered, renewed or unregistered since then, like 2026-11-24 or 2026-11-24T12:00:00Z.",
            valueName: "time"),
        transform: TimeArgument.time)
    var since: Timestamp?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard of == nil || since == nil else { throw ValidationError("--since counts installations, and --of shows those of one key.") }
    }

    func run() async throws {
        let database = try database.serverDatabase()
        guard let of else {
            return try output.print(try await database.read { try await RegistrationCountsReport(since: since, reading: $0) })
        }
        let keyHash = of.keyHash.bytes
        try output.print(try await database.read { try await RegistrationsReport(of: keyHash, reading: $0) })
    }
}
