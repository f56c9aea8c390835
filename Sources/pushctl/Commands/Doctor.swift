import ArgumentParser
import PushClient

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays a whole test device against a server, times each step, and says in plain words what is wrong.",
        discussion: """
            Registers a new key, queries it, pushes to it and unregisters it. Without --device-token the device is registered as not \
            wanting to be notified, so that nothing reaches gorush. With one, a real notification is shown on that device. Whether \
            what is accepted gets through gorush, the server's admin endpoints tell. Exit code 0 if all is well.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "The server's admin endpoints. Default: \(AdminEndpoints.defaultURL), if this server is there.", valueName: "url"))
    var admin: String?

    @Option(help: ArgumentHelp("Notify this device in earnest.", valueName: "token"))
    var deviceToken: String?

    @Option(help: "Who delivers to it: \(Register.TokenType.allCases.map(\.rawValue).joined(separator: " or ")).")
    var tokenType = Register.TokenType.firebase

    @Option(help: ArgumentHelp("The app's bundle id; needed for apn.", valueName: "bundle"))
    var apnTopic: String?

    func validate() throws {
        guard (tokenType == .apn) == (apnTopic != nil) else {
            throw ValidationError("--apn-topic belongs to --token-type apn, which needs it.")
        }
    }

    func run() async throws {
        let key = try server.serverKey()
        let access = try server.node.access()
        let node = Node(access)
        let checkup = Checkup(server: PushServer(key, node: node, timeout: server.timeout), node: node, device: device)
        func report(_ step: Checkup.Step) {
            if !output.json { print(step.line.printable) }
        }
        var steps = await checkup.run(report)
        var delivery = AdminEndpoints.Delivery.unknown("no push was accepted")
        if steps.contains(where: { $0.kind == .push && $0.problem == nil }) {
            let start = ContinuousClock.now
            delivery = await AdminEndpoints(url: admin).delivery(of: key)
            if let problem = delivery.problem(isAsked: admin != nil) {
                steps.append(.init(kind: .delivery, duration: ContinuousClock.now - start, problem: problem))
            } else if delivery.isKnown {
                steps.append(.init(kind: .delivery, duration: ContinuousClock.now - start, problem: nil))
            }
            if let step = steps.last, step.kind == .delivery { report(step) }
            if !output.json { for line in delivery.notes { print(line.printable) } }
        }
        if output.json { try output.print(DoctorOutput(steps: steps, delivery: delivery)) { [] } }
        guard let failed = steps.first(where: { $0.problem != nil }) else { return }
        if case .error(let error) = failed.problem {
            let failure = Failure(error, node: access, silence: "")
            if failure.exitCode != .failure {
                // The advice is all that there is to say of some failures.
                let isAdvised = failure.message.hasSuffix(failed.advice)
                throw Failure(message: failure.message + (isAdvised ? "" : "\n" + failed.advice), exitCode: failure.exitCode)
            }
        }
        throw Failure.failed("\(failed.problem?.description ?? "")\n\(failed.advice)")
    }

    private var device: Device {
        var device = Device(
            deviceToken: deviceToken ?? "pushctl doctor: never to be notified", service: apnTopic.map { .apn(topic: $0) } ?? .firebase)
        device.isEnabled = deviceToken != nil
        return device
    }
}

private struct DoctorOutput: Encodable {
    struct Step: Encodable {
        let name: String
        let isDone: Bool
        let milliseconds: Int64
        let problem: String?
        let advice: String?
    }

    let isHealthy: Bool
    /// Whether it is known that what is accepted gets through gorush.
    let isDeliveryChecked: Bool
    let warnings: [String]
    let steps: [Step]

    init(steps: [Checkup.Step], delivery: AdminEndpoints.Delivery) {
        isDeliveryChecked = delivery.isKnown
        warnings = delivery.warnings
        isHealthy = steps.allSatisfy { $0.problem == nil }
        self.steps = steps.map { step in
            Step(
                name: step.kind.rawValue, isDone: step.problem == nil, milliseconds: step.milliseconds,
                problem: step.problem?.description, advice: step.problem == nil ? nil : step.advice)
        }
    }
}
