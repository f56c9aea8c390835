import ArgumentParser
import Bytes
import PushClient
import StatusCrypto

struct Register: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Register a device with servers, or replace its registration.",
        discussion: """
            Registers as an app does: each time with a higher version, and with the same access token. The token is new if a contact was \
            removed or the device is now for contacts only. With --registration-version or --access-token, the command sends exactly these \
            values once, and stores nothing.
            """)

    enum TokenType: String, CaseIterable, ExpressibleByArgument {
        case apn
        case firebase
    }

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The device token from Apple or Google.", valueName: "token"))
    var deviceToken: String

    @Option(help: "The push service of the device: \(TokenType.allCases.map(\.rawValue).joined(separator: " or ")).")
    var tokenType: TokenType

    @Option(help: ArgumentHelp("The app's bundle id; needed for apn.", valueName: "bundle"))
    var bundleID: String?

    @Option(help: ArgumentHelp("The installation id of the device. Default: a UUID derived from the key.", valueName: "id"))
    var installation: String?

    @Option(help: ArgumentHelp("The UUID that senders must present. Default: that of the previous registration.", valueName: "uuid"))
    var accessToken: String?

    @Option(
        help: ArgumentHelp(
            "The version, above that of any earlier registration. Default: the last one plus 1, or the milliseconds since 1970.",
            valueName: "number"))
    var registrationVersion: UInt64?

    @Flag(help: "Register the device and send it no notifications.")
    var disabled = false

    @Option(
        help: ArgumentHelp(
            "A chat whose messages do not notify, or the public key, 0x04…, of an author who never notifies; may be repeated.",
            valueName: "chat"))
    var blockChat: [String] = []

    @Option(
        help: ArgumentHelp(
            "A chat whose messages do not notify; may be repeated. Mentions in it notify with --mention-chat.", valueName: "chat"))
    var muteChat: [String] = []

    @Flag(help: "Mentions notify in no chat, even with --mention-chat.")
    var blockMentions = false

    @Option(
        help: ArgumentHelp(
            "A chat in which mentions notify; may be repeated. Default: mentions notify in no chat, as the protocol demands.",
            valueName: "chat"))
    var mentionChat: [String] = []

    @Option(
        help: ArgumentHelp("The public key of a contact; may be repeated. With it, only contacts may notify.", valueName: "key"),
        transform: HexArgument.key)
    var contact: [PushClient.PublicKey] = []

    func validate() throws {
        guard (tokenType == .apn) == (bundleID != nil) else {
            throw ValidationError("--bundle-id belongs to --token-type apn, which needs it.")
        }
    }

    func run() async throws {
        // The command reports every mistake before it creates the first file.
        try server.check()
        try key.check()
        let state = accessToken == nil && registrationVersion == nil ? try state.open(beside: key) : nil
        let identity = try key.identity(createsIfMissing: true)
        let installationID = installation ?? identity.derivedInstallationID
        // All servers get the same registration.
        var random = SecureRandom()
        let exactToken = accessToken ?? UniversallyUniqueID.random(using: &random)
        let (registered, failure) = try await server.withServers(
            silence: "Check the server's key and that it listens on this shard. The server may have stored the registration anyway."
        ) { server throws in
            let receipt =
                if let state {
                    try await server.client(of: identity, installationID: installationID, state: state).tell(device, to: server.key)
                } else {
                    try await server.register(
                        device, installationID: installationID, accessToken: exactToken, version: registrationVersion, as: identity)
                }
            return RegistrationOutput(receipt, identity, server)
        }
        try output.print(registered) { registered.flatMap { $0.lines("registered") } }
        if let failure { throw failure }
    }

    private var device: Device {
        let service = bundleID.map { Device.Service.apn(bundleID: $0) } ?? .firebase
        var device = Device(deviceToken: deviceToken, service: service)
        device.isEnabled = !disabled
        device.blockedChats = Set(blockChat.map(ChatID.init))
        device.mutedChats = Set(muteChat.map(ChatID.init))
        device.blocksMentions = blockMentions
        device.mentionChats = Set(mentionChat.map(ChatID.init))
        if !contact.isEmpty { device.audience = .contacts(Set(contact)) }
        return device
    }
}

/// The output of `register` and `unregister` for each server.
struct RegistrationOutput: Encodable {
    let publicKey: String
    let server: String
    let installationID: String
    let accessToken: String?
    /// Digits, because most readers of JSON lose precision above 2^53.
    let version: String
    let requestID: String

    init(_ receipt: RegistrationReceipt, _ identity: Identity, _ server: PushServer) {
        publicKey = identity.publicKey.hex
        self.server = server.key.hex
        installationID = receipt.installationID
        accessToken = receipt.accessToken
        version = "\(receipt.version)"
        requestID = receipt.requestID
    }

    /// The result as lines for a reader.
    func lines(_ title: String) -> [String] {
        var lines = [title, "  public key    \(publicKey)", "  installation  \(installationID)"]
        if let accessToken { lines.append("  access token  \(accessToken)") }
        return lines + ["  version       \(version)"]
    }
}
