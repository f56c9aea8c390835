import ArgumentParser
import Observation
import Operator
import PushClient

struct Query: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Query an owner's devices and their access tokens.",
        discussion: """
            Queries the named server, or every server that knows the owner. Each query is signed with a new key, so it does not reveal \
            its sender. With --key-file, pushctl decrypts the access tokens that are encrypted for that key as a contact's.
            """)

    /// The first sentence for a key without registrations, whether the server does not reply or replies with an empty list (PROTOCOL.md
    /// §8).
    static let unknownKey = "The server knows nobody under that key."
    static let silence = """
        \(unknownKey) Servers do not reply to queries for unknown keys; `pushctl doctor` checks whether this one runs.
        """

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp("The owner's public key, or its hash, with which grants cannot be checked.", valueName: "key"),
        transform: HexArgument.owner)
    var owner: Owner

    func run() async throws {
        let devices = try await devices()
        try output.print(devices.map(DeviceOutput.init)) { devices.flatMap(Self.lines) }
    }

    private func devices() async throws -> [DeviceInfo] {
        let identity = try key.identityIfThere()
        guard !server.namesServer else {
            let answer = try await server.withServer(silence: Self.silence) { server throws in
                try await server.query(owner, as: identity)
            }
            Self.warn(ofRejected: answer)
            guard !answer.devices.isEmpty || answer.rejectedCount > 0 else { throw Failure.failed(Self.unknownKey, .unknownOwner) }
            return answer.devices
        }
        guard let owner = owner.publicKey else {
            throw Failure.usage("Without --server, pushctl needs the owner's key, not its hash: name a server with --server.")
        }
        let devices = try await server.node.withNode(silence: "") { node throws in
            try await SendingClient(identity: identity, node: node, state: MemoryState()).query(owner)
        }
        guard !devices.isEmpty else { throw Failure.failed("No server replied. \(Self.silence)", .unknownOwner) }
        return devices
    }

    static func warn(ofRejected answer: QueryResult) {
        guard answer.rejectedCount > 0 else { return }
        StandardError.print(
            """
            pushctl: left out \(answer.rejectedCount) of the reply's \(answer.rejectedCount + answer.devices.count) devices: \
            they belong to another owner, or their grant is not the owner's for this server.
            """)
    }

    private static func lines(_ device: DeviceInfo) -> [String] {
        [
            "installation  \(device.installationID)",
            "server        \(device.server.hex)",
            "access token  \(device.accessToken ?? "for contacts only (\(device.encryptedTokenCount) encrypted ones)")",
            "version       \(device.version)",
            "grant         \(text(device.authorization))",
        ]
    }

    private static func text(_ authorization: DeviceInfo.Authorization) -> String {
        switch authorization {
        case .verified: "verified"
        case .tokenHidden: "not checked: the check needs the access token, which is for contacts only"
        default: "not checked: the check needs the owner's key instead of its hash"
        }
    }
}

private struct DeviceOutput: Encodable {
    let installationID: String
    let server: String
    let accessToken: String?
    let encryptedTokenCount: Int
    /// Digits, because most readers of JSON lose precision above 2^53.
    let version: String
    let grant: String

    init(_ device: DeviceInfo) {
        installationID = device.installationID
        server = device.server.hex
        accessToken = device.accessToken
        encryptedTokenCount = device.encryptedTokenCount
        version = "\(device.version)"
        grant = device.authorization.rawValue
    }
}
