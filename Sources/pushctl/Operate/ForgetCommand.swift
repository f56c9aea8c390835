import ArgumentParser
import Envelope
import SQLiteStore
import StatusCrypto
import Store

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forgets a key for ever: its registrations, their lists and tokens, and its pushes.",
        discussion: """
            The server must not be running. What stays: a tombstone for each installation, with the hash of the key, the installation's id \
            and its version, so that nobody can register it anew with an old message; for two days the replies to other people that name \
            the hash; and whatever backups there are. Its owner can register again, with a higher version.
            """)

    @Argument(help: "The public key (0x04… or compressed).", transform: HexArgument.publicKey)
    var publicKey: PublicKey

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    private struct Result: Encodable {
        var registrations: Int
        var tombstones: Int
        var pushes: Int
        var deadTokens: Int
        var replies: Int
    }

    func run() async throws {
        let now = WallClock.system.now()
        let forgotten = try await database.withStoreToChange { try await $0.forget(publicKey, at: now) }
        let result = Result(
            registrations: forgotten.registrationCount, tombstones: forgotten.tombstoneCount, pushes: forgotten.pushCount,
            deadTokens: forgotten.deadRegistrationCount, replies: forgotten.replyCount)
        try output.print(result) {
            [
                "registrations  \(result.registrations)", "pushes         \(result.pushes)", "dead tokens    \(result.deadTokens)",
                "replies        \(result.replies)", "tombstones stay: \(result.tombstones)",
            ]
        }
        if forgotten == Forgotten() { throw Failure.failed("The server has never heard of that key.") }
    }
}
