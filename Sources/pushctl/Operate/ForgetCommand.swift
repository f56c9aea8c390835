import ArgumentParser
import Envelope
import Operator
import StatusCrypto

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Erase the data of a key permanently: registrations, lists, tokens and pushes.",
        discussion: """
            The server must not be running. Some data stays: a tombstone for each installation, with the hash of the key, the installation \
            id and the version, so that an old message cannot register it again; for two days, replies to other clients that name the \
            hash; and all backups. The owner can register again with a higher version.
            """)

    @Argument(help: "The public key (0x04… or compressed).", transform: HexArgument.publicKey)
    var publicKey: PublicKey

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let now = WallClock.system.now()
        try output.print(
            try await database.serverDatabase().change { try await ForgetReport(forgetting: publicKey, at: now, in: $0) })
    }
}
