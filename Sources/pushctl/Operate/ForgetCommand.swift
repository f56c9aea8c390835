import ArgumentParser
import Envelope
import Operator
import StatusCrypto

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Erase the data of a key permanently: registrations, lists, tokens and pushes.",
        discussion: """
            The server must not be running. What stays: a tombstone for each installation, with the hash of the key, the installation's id \
            and its version, so that nobody can register it anew with an old message; for two days the replies to other people that name \
            the hash; and whatever backups there are. Its owner can register again, with a higher version.
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
