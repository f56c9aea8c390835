import ArgumentParser
import Bytes
import Observation
import Operator
import PushClient
import StatusCrypto

struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Notify an owner's devices.",
        discussion: """
            With --server, pushctl requests the push from that server only: for the device of --access-token, or for all devices that the \
            server knows. Without --server, it searches for the owner's advertisement and queries all servers, as an app does. It then \
            notifies at most three devices through one server each, or through another one if that does not reply. With --state, it uses \
            lookups of the last day again. A server delivers an accepted push unless the receiver's settings filter it; the reply does \
            not show that. Exit code 0 if the push was accepted for every device.
            """)

    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case message
        case mention
        case requestToJoin = "request-to-join"
        case contactRequest = "contact-request"
    }

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The owner's public key, or its hash.", valueName: "key"), transform: HexArgument.owner)
    var to: Owner

    @Option(help: ArgumentHelp("The installation id of one device. Default: all devices that the server knows.", valueName: "id"))
    var installation: String?

    @Option(help: ArgumentHelp("The device's access token; needs --installation.", valueName: "uuid"))
    var accessToken: String?

    @Option(help: "The kind of event: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var type = Kind.message

    @Option(help: ArgumentHelp("The chat of the message.", valueName: "chat"))
    var chat: String?

    @Option(help: ArgumentHelp("The public key of the message's author.", valueName: "key"), transform: HexArgument.key)
    var author: PushClient.PublicKey?

    @Option(
        help: ArgumentHelp("The message id, delivered once in ten minutes. Default: 32 random bytes.", valueName: "hex"),
        transform: HexArgument.bytes)
    var messageID = PushMessage.randomMessageID()

    @Option(
        help: ArgumentHelp("The encrypted message to pass to the device.", valueName: "hex"), transform: HexArgument.bytes)
    var ciphertextHex: [UInt8] = []

    func validate() throws {
        guard accessToken == nil || installation != nil else { throw ValidationError("--access-token needs --installation.") }
        guard !messageID.isEmpty else { throw ValidationError("A server drops a push without a message id.") }
    }

    func run() async throws {
        if server.namesServer { try await pushAtServer() } else { try await pushAnywhere() }
    }

    private func pushAnywhere() async throws {
        guard let owner = to.publicKey else {
            throw Failure.usage("Without --server, pushctl needs the owner's key, not its hash: name a server with --server.")
        }
        guard accessToken == nil else { throw Failure.usage("An access token is valid at one server only: name the server with --server.") }
        // The state file, which is the only file that this command creates, comes after every check.
        _ = try server.node.access()
        let identity = try key.identityIfThere()
        let state = try state.openIfNamed()
        let recipient = Recipient(owner, installationIDs: installation.map { [$0] })
        let reports = try await server.node.withNode(silence: "") { node throws in
            try await SendingClient(identity: identity, node: node, state: state).push(message, to: [recipient])
        }
        try output.print(PushOutput(messageID: messageID, reports: reports)) {
            reports.map { "\($0.installationID ?? "no device")  \($0.outcome)" }
        }
        let acceptedCount = reports.count(where: \.outcome.isAccepted)
        guard acceptedCount == reports.count else {
            let isUnknown = reports.contains { $0.outcome == .unknown }
            throw Failure.failed(
                "The push was accepted for \(acceptedCount) of \(reports.count) devices."
                    + (isUnknown ? " If the owner lets contacts only notify, name a contact's key with --key-file." : ""), .notAccepted)
        }
    }

    private func pushAtServer() async throws {
        let devices = try await devices()
        let reports = try await server.withServer(
            silence: "Check the server's key and that it listens on this shard. The server may have accepted the push anyway."
        ) { server throws in
            try await server.push(message, to: devices)
        }
        try output.print(PushOutput(messageID: messageID, reports: reports)) {
            reports.map { "\($0.installationID)  \($0.outcome)" }
        }
        // A server may omit reports: the reference's server does so for notifications that it cannot decide.
        let acceptedCount = reports.count { $0.outcome == .accepted }
        guard acceptedCount >= devices.count else {
            throw Failure.failed("The push was accepted for \(acceptedCount) of \(devices.count) devices.", .notAccepted)
        }
    }

    private var message: PushMessage {
        let kind: PushMessage.Kind =
            switch type {
            case .message: .message
            case .mention: .mention
            case .requestToJoin: .requestToJoinCommunity
            case .contactRequest: .contactRequest
            }
        var message = PushMessage(kind: kind, messageID: messageID)
        message.chat = chat.map(ChatID.init)
        message.author = author
        message.ciphertext = ciphertextHex
        return message
    }

    private func devices() async throws(Failure) -> [PushDevice] {
        if let installation, let accessToken {
            return [PushDevice(owner: to, installationID: installation, accessToken: accessToken)]
        }
        let identity = try key.identityIfThere()
        let answer = try await server.withServer(silence: Query.silence) { server throws in
            try await server.query(to, as: identity)
        }
        Query.warn(ofRejected: answer)
        let wanted = answer.devices.filter { installation == nil || $0.installationID == installation }
        let devices = wanted.compactMap { device in
            device.accessToken.map { PushDevice(owner: to, installationID: device.installationID, accessToken: $0) }
        }
        guard !devices.isEmpty else {
            guard !answer.devices.isEmpty || answer.rejectedCount > 0 else { throw .failed(Query.unknownKey, .unknownOwner) }
            throw wanted.isEmpty
                ? .failed("The server knows no such device of this owner. `pushctl query` shows those it knows.", .unknownDevice)
                : .failed(
                    "The access tokens are for contacts only. Give the one you have with --installation and --access-token.", .tokenHidden)
        }
        if devices.count < wanted.count {
            StandardError.print("pushctl: left out \(wanted.count - devices.count) devices whose access tokens are for contacts only.")
        }
        return devices
    }
}

private struct PushOutput: Encodable {
    let messageID: String
    let reports: [Report]

    struct Report: Encodable {
        let keyHash: String
        let installationID: String
        let outcome: String
    }

    init(messageID: [UInt8], reports: [DeviceReport]) {
        self.messageID = Hex.encode(messageID)
        self.reports = reports.map {
            Report(keyHash: $0.keyHash, installationID: $0.installationID, outcome: Self.name($0.outcome))
        }
    }

    init(messageID: [UInt8], reports: [DeliveryReport]) {
        self.messageID = Hex.encode(messageID)
        self.reports = reports.map { report in
            let outcome =
                switch report.outcome {
                case .noReply: "no reply"
                case .unknown: "unknown"
                case let outcome where outcome.error != nil: "lookupFailed"
                case let outcome: Self.name(outcome.rejection ?? .accepted)
                }
            return Report(keyHash: report.owner.hash.hex, installationID: report.installationID ?? "", outcome: outcome)
        }
    }

    private static func name(_ outcome: DeviceReport.Outcome) -> String {
        switch outcome {
        case .accepted: "accepted"
        case .wrongToken: "WRONG_TOKEN"
        case .internalError: "INTERNAL_ERROR"
        case .notRegistered: "NOT_REGISTERED"
        default: "error \(outcome.errorCode ?? 0)"
        }
    }
}
