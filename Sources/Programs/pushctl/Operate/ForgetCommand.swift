import ArgumentParser
import Bytes
import Envelope
import Operator
import StatusCrypto

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Erase the data of an owner permanently: registrations, lists, tokens and pushes.",
        discussion: """
            The server must not be running. Some data stays: a tombstone for each installation, with the hash of the key, the installation \
            id and the version, so that an old message cannot register it again; for two days, replies to other clients that name the \
            hash; and all backups. The owner can register again with a higher version, and an app with this project's client does so \
            within a week, because it renews its registration: let the user sign out or delete the app first.
            """)

    @Option(help: ArgumentHelp("The owner's public key (0x04… or compressed).", valueName: "key"), transform: HexArgument.publicKey)
    var owner: PublicKey

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let now = WallClock.system.now()
        try output.print(
            try await database.serverDatabase().change { try await ForgetReport(forgetting: owner, at: now, in: $0) })
    }
}
