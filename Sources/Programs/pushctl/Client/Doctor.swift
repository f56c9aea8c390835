import ArgumentParser
import Bytes
import Operator
import PushClient
import Settings

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a server and all around it, then play a test device, and explain what is wrong.",
        discussion: """
            On the server's machine it first checks settings, files and their rights, database, disk, backups, clocks, node and gorush, \
            and names what it cannot check. Then it registers a new key, queries it, pushes to it and unregisters it. Without \
            --device-token, notifications to the device are disabled, so no push reaches gorush. With one, the device shows a real \
            notification. The doctor then waits for the outcome of the push and prints it with the reason of Apple or Google and a remedy. \
            It reads the outcome and the readiness from the server's admin endpoints. Exit code 0 if all steps succeed.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "The server's admin endpoints. Default: admin.listen of the settings, if those belong to this server.", valueName: "url"))
    var admin: String?

    @OptionGroup var settings: SettingsOptions

    @Option(help: ArgumentHelp("A device to notify; without it, gorush gets no push.", valueName: "token"))
    var deviceToken: String?

    @Option(help: "The push service of the device: \(Register.TokenType.allCases.map(\.rawValue).joined(separator: " or ")).")
    var tokenType = Register.TokenType.firebase

    @Option(help: ArgumentHelp("The app's bundle id; needed for apn.", valueName: "bundle"))
    var bundleID: String?

    func validate() throws {
        guard (tokenType == .apn) == (bundleID != nil) else {
            throw ValidationError("--bundle-id belongs to --token-type apn, which needs it.")
        }
    }

    func run() async throws {
        try await settings.with { settings in
            let endpoints = AdminEndpoints(url: admin ?? settings.source.adminURL)
            let key = server.namesServer ? try server.serverKey() : try await settings.serverKey(asking: endpoints)
            let access = try server.node.access(of: settings)
            let node = access.node
            let checkup = Checkup(server: PushServer(key, node: node, timeout: server.timeout), node: node, device: device)
            let report = await DoctorReport(
                of: checkup, and: ServerCheckup(settings, of: key), at: key, through: access, admin: endpoints, isAdminNamed: admin != nil
            ) { line in
                if !output.json { print(line.printable) }
            }
            try output.print(report)
        }
    }

    private var device: Device {
        var device = Device(
            deviceToken: deviceToken ?? "pushctl doctor: never to be notified", service: bundleID.map { .apn(bundleID: $0) } ?? .firebase)
        device.isEnabled = deviceToken != nil
        return device
    }
}
