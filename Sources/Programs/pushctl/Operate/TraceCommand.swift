import ArgumentParser
import Operator
import PushClient
import PushProtocol

struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Show the history of a push from a server's database.",
        discussion: """
            Name the push request by an id, or the device by its owner's key and its installation id. Shows when the server received and \
            accepted the push, how often it attempted the delivery and why that failed, and how the push finished. Shows no token and no \
            text. The server may be running.
            """)

    @Option(
        help: ArgumentHelp(
            "The message id that `pushctl push` printed, the Status message id of the request, or the hash of its Waku message, in hex.",
            valueName: "id"),
        transform: HexArgument.bytes)
    var message: [UInt8]?

    @Option(
        help: ArgumentHelp("The owner's public key (0x04… or compressed) or the 128 hex digits of its hash.", valueName: "key"),
        transform: HexArgument.owner)
    var owner: Owner?

    @Option(help: ArgumentHelp("The installation id of the device.", valueName: "id"))
    var installation: String?

    @OptionGroup var database: ReadingOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (owner == nil) == (installation == nil), (message == nil) != (owner == nil) else {
            throw ValidationError("Give --message, or --owner together with --installation.")
        }
    }

    func run() async throws {
        try await database.with { database, _ in
            if let message {
                try output.print(try await database.read { try await TraceReport(ofMessage: message, reading: $0) })
            } else if let owner, let installation {
                let target = Installation(keyHash: owner.keyHash.bytes, installationID: installation)
                try output.print(try await database.read { try await TraceReport(to: target, reading: $0) })
            }
        }
    }
}
