import ArgumentParser
import Bytes
import Foundation
import HTTPClient
import JSON
import Operator
import ServerCrypto
import StatusCrypto

/// Acts as a device with a Nextcloud app, and as its server, towards a push proxy (GATEWAY_PROTOCOLS.md §1 to §3).
struct NextcloudCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nextcloud",
        abstract: "Act as a phone with a Nextcloud app, and as its server, towards the push proxy.",
        subcommands: [NextcloudRegister.self, NextcloudUnregister.self, NextcloudNotify.self, NextcloudListen.self])
}

/// The option that names the device.
struct NextcloudDeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The file with the keys of device and account; `register` creates it.", valueName: "file"))
    var device: String

    func load() throws(Failure) -> NextcloudDevice {
        guard let loaded = try NextcloudDevice.load(device) else {
            throw .configuration("There is no file \(device); `pushctl nextcloud register` creates it.")
        }
        return loaded
    }
}

private struct NextcloudRegister: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "register", abstract: "Register a device with the proxy.")

    @OptionGroup var device: NextcloudDeviceOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "The push token from Apple or Google. Talk for iOS has two, separated by a space; the second one is for calls.",
            valueName: "token"))
    var pushToken: String

    @Option(help: ArgumentHelp("The account. Default: that of the device's file, or alice@cloud.example.com.", valueName: "user@host"))
    var cloudId: String?

    @Option(help: ArgumentHelp("The app's User-Agent, which identifies the app to the proxy.", valueName: "text"))
    var userAgent: String?

    func run() async throws {
        let known = try NextcloudDevice.load(device.device)
        // A proxy must not know a device whose keys cannot be saved.
        try NextcloudDevice.checkFolder(of: device.device)
        let registered =
            if let known, cloudId == nil || cloudId == known.cloudID {
                known.with(pushToken: pushToken)
            } else {
                NextcloudDevice(cloudID: cloudId ?? "alice@cloud.example.com", pushToken: pushToken)
            }
        let form = GatewayOptions.form([
            ("pushToken", registered.pushToken), ("deviceIdentifier", registered.identifier),
            ("deviceIdentifierSignature", registered.identifierSignature), ("userPublicKey", registered.accountKey.publicKey.pem),
            ("cloudId", registered.cloudID),
        ])
        let answer = try await gateway.send(.post, "/devices", form, headers: userAgent.map { [("User-Agent", $0)] } ?? [])
        guard answer.status == 200 else { throw Failure.failed("The proxy rejected the device: \(answer.status) \(PeerText(answer.body))") }
        // Not before: who is refused keeps what it had.
        try registered.save(device.device)
        try output.print(DeviceOutput(deviceIdentifier: registered.identifier, cloudID: registered.cloudID)) {
            ["registered  \(registered.cloudID)  \(registered.identifier)"]
        }
    }
}

private struct NextcloudUnregister: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unregister", abstract: "Unregister a device from the proxy.")

    @OptionGroup var device: NextcloudDeviceOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let known = try device.load()
        let form = GatewayOptions.form([
            ("deviceIdentifier", known.identifier), ("deviceIdentifierSignature", known.identifierSignature),
            ("userPublicKey", known.accountKey.publicKey.pem),
        ])
        let answer = try await gateway.send(.delete, "/devices", form)
        guard answer.status == 200 else {
            throw Failure.failed("The proxy rejected the request: \(answer.status) \(PeerText(answer.body))")
        }
        try output.print(DeviceOutput(deviceIdentifier: known.identifier, cloudID: known.cloudID)) {
            ["unregistered  \(known.cloudID)  \(known.identifier)"]
        }
    }
}

private struct NextcloudNotify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "notify", abstract: "Notify a device as its server does.")

    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case alert, voip, background
    }

    enum Priority: String, CaseIterable, ExpressibleByArgument {
        case normal, high
    }

    @OptionGroup var device: NextcloudDeviceOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "The text to show, which is encrypted for the device.")
    var subject = "Hello from pushctl"

    @Option(help: ArgumentHelp("The app of the Nextcloud server that sends the notification.", valueName: "name"))
    var app = "spreed"

    @Option(help: "The type of the notification.")
    var type = Kind.alert

    @Option(help: "The priority of the notification.")
    var priority = Priority.high

    @Option(help: "The padding of the content: oaep, or pkcs1 as of older servers.")
    var padding = RSAPadding.oaep

    func run() async throws {
        let known = try device.load()
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let content = try encoder.encode(Content(nid: 1, app: app, subject: subject, type: type == .voip ? "call" : "chat", id: "1"))
        guard let entry = try known.entry([UInt8](content), padding: padding, type: type.rawValue, priority: priority.rawValue) else {
            throw Failure.usage("--subject: it is too long for one block of the device's key.")
        }
        let answer = try await gateway.send(.post, "/notifications", GatewayOptions.form([("notifications[]", entry)]))
        guard answer.status == 200, let result = try? JSON.decode(Answer.self, from: Array(answer.body.utf8)) else {
            throw Failure.failed("The proxy rejected the request: \(answer.status) \(PeerText(answer.body))")
        }
        try output.print(result) { result.failed == 0 ? ["accepted"] : [] }
        guard result.failed == 0 else {
            throw Failure.failed(
                result.unknown.isEmpty
                    ? "The proxy could not take the notification."
                    : "The proxy does not know the device, or not with this token; a server forgets it now.")
        }
    }

    private struct Content: Encodable {
        let nid: Int
        let app, subject, type, id: String
    }

    private struct Answer: Codable {
        let unknown: [String]
        let failed: Int
    }
}

private struct NextcloudListen: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Show the notifications that a phone would decrypt, from gorush's input.",
        discussion: """
            Reads notifications, one JSON object a line, as `stubgorush --data` prints them, and decrypts those for this device. Ignores \
            the others.
            """)

    @OptionGroup var device: NextcloudDeviceOptions

    @Argument(
        help: ArgumentHelp("The file with gorush's input, one notification a line. Default: standard input.", valueName: "file"),
        completion: .file())
    var input: String?

    func run() throws {
        let known = try device.load()
        if let input {
            let file = try FileHandle(readingRegularFile: input)
            guard dup2(file.fileDescriptor, STDIN_FILENO) >= 0 else { throw Failure.configuration("\(input) cannot be read.") }
        }
        while let line = readLine() {
            guard let notification = try? JSON.decode(Notification.self, from: Array(line.utf8)),
                let text = known.open(subject: notification.data.subject, signature: notification.data.signature)
            else { continue }
            print(text.printable)
        }
    }

    private struct Notification: Decodable {
        let data: Block

        struct Block: Decodable {
            let subject, signature: String
        }
    }
}

private struct DeviceOutput: Encodable {
    let deviceIdentifier: String
    let cloudID: String
}

extension RSAPadding: ExpressibleByArgument {}
