import ArgumentParser
import Operator
import PushClient
import StatusCrypto

struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Count the registrations of a server, or show those of one key, without tokens.")

    @Option(help: "A public key (0x04… or compressed) or the 128 hex digits of its hash.", transform: HexArgument.person)
    var of: Person?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let database = try database.serverDatabase()
        guard let of else { return try output.print(try await database.read { try await RegistrationCountsReport(reading: $0) }) }
        let keyHash = of.keyHash.bytes
        try output.print(try await database.read { try await RegistrationsReport(of: keyHash, reading: $0) })
    }
}
