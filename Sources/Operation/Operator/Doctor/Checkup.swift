import Bytes
import Envelope
import Observation
package import PushClient
import PushClientREST
import PushProtocol
import StatusCrypto

/// Checks a server with a test device, from registering to unregistering it.
package struct Checkup {
    enum Kind: String {
        /// Whether the admin endpoints that the operator named belong to the server.
        case admin
        case node
        case register
        case query
        case push
        /// The push's outcome, from the server's admin endpoints.
        case outcome
        case unregister
        /// Whether the server delivers to Apple and Google, from its admin endpoints.
        case delivery
    }

    /// What went wrong in a step.
    enum Problem: CustomStringConvertible {
        case failed(PushClientError)
        /// A response arrived, but it was wrong.
        case wrong(String)

        var description: String {
            switch self {
            case .failed(let error): error.description
            case .wrong(let text): text
            }
        }
    }

    struct Step {
        let kind: Kind
        let duration: Duration
        let problem: Problem?

        var milliseconds: Int64 { duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000 }

        var line: String {
            let name = kind.rawValue + String(repeating: " ", count: 12 - kind.rawValue.count)
            return problem.map { "failed  \(name)\($0)" } ?? "ok      \(name)\(milliseconds) ms"
        }
    }

    private let server: PushServer
    private let node: Node
    private let device: Device
    private let identity = Identity.generate()
    /// The device's platform, as routes name it.
    var platform: String { device.service == .firebase ? "android" : "ios" }
    /// The installation id, a UUID: the reference's servers refuse other ids.
    private var installationID: String { identity.derivedInstallationID }

    package init(server: PushServer, node: Node, device: Device) {
        self.server = server
        self.node = node
        self.device = device
    }

    /// Runs the steps until a step fails that later steps need. It always unregisters the device.
    ///
    /// - Parameters:
    ///   - outcome: Waits until the push with a deduplication key has an outcome, and returns its problem, if any. The checkup calls it
    ///     only for a device that is to be notified. Nil without admin endpoints.
    ///   - report: Receives each step when it has ended.
    /// - Returns: All steps.
    func run(outcome: ((Digest32) async -> Problem?)?, _ report: (Step) -> Void) async -> [Step] {
        var steps: [Step] = []
        func step(_ kind: Kind, _ body: () async throws -> Problem?) async -> Bool {
            let start = ContinuousClock.now
            let problem: Problem?
            do {
                problem = try await body()
            } catch {
                problem = (error as? PushClientError).map { .failed($0) } ?? .wrong("\(error)")
            }
            let step = Step(kind: kind, duration: ContinuousClock.now - start, problem: problem)
            steps.append(step)
            report(step)
            return problem == nil
        }

        guard await step(.node, checkNode) else { return steps }
        var receipt: RegistrationReceipt?
        let isRegistered = await step(.register) { () async throws in
            receipt = try await server.register(device, installationID: installationID, as: identity)
            return nil
        }
        if isRegistered, let receipt {
            _ = await step(.query) { () async throws in try await query(receipt) }
            var pushed: Digest32?
            let isAccepted = await step(.push) { () async throws in
                let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
                pushed = deduplicationKey(of: message)
                return try await push(message, receipt)
            }
            // Unregistering withdraws a push that waits.
            if isAccepted, device.isEnabled, let pushed, let outcome { _ = await step(.outcome) { () async in await outcome(pushed) } }
        }
        // A registration may have been stored even if no reply arrived.
        _ = await step(.unregister) { () async throws in
            _ = try await server.unregister(installationID: installationID, version: receipt.map { $0.version + 1 }, as: identity)
            return nil
        }
        return steps
    }

    /// What is wrong with this machine's clock, as far as the node shows it, or nil.
    var clockWarning: String? {
        node.exchange.clockLead.flatMap { Exchange.isWrong(clockLead: $0) ? $0.asClockLead : nil }
    }

    private func checkNode() async throws -> Problem? {
        _ = try await node.exchange.history(of: [TopicName.partitioned(identity.publicKey.publicKey).topic], since: node.now)
        return nil
    }

    private func query(_ receipt: RegistrationReceipt) async throws -> Problem? {
        let answer = try await server.query(.key(identity.publicKey))
        guard answer.rejectedCount == 0 else { return .wrong("The response differs from the registration: the grant is not ours.") }
        guard answer.devices.map(\.accessToken) == [receipt.accessToken], answer.devices.map(\.version) == [receipt.version] else {
            return .wrong("The response differs from the registration: another access token or version.")
        }
        return nil
    }

    private func deduplicationKey(of message: PushMessage) -> Digest32 {
        let target = Installation(keyHash: identity.publicKey.hash.bytes, installationID: installationID)
        return DeduplicationKey.digest(messageID: message.messageID, installation: target)
    }

    private func push(_ message: PushMessage, _ receipt: RegistrationReceipt) async throws -> Problem? {
        let target = PushDevice(owner: .key(identity.publicKey), installationID: installationID, accessToken: receipt.accessToken ?? "")
        let reports = try await server.push(message, to: [target])
        guard reports.map(\.outcome) == [.accepted] else {
            return .wrong("The push was not accepted: \(reports.map(\.outcome.description).joined(separator: ", "))")
        }
        return nil
    }
}

extension Checkup.Step {
    /// Returns the next step for the operator.
    func advice(through access: NodeAccess) -> String {
        let error: PushClientError? = if case .failed(let error) = problem { error } else { nil }
        return switch (kind, problem, error?.code) {
        case (.admin, _, _):
            "Compare the key with `pushserver identity` on the server's machine, and name that server's admin endpoints with --admin."
        case (_, _, .some(.nodeUnreachable)):
            "nwaku has a REST API with --rest=true; `pushserver serve` has a node inside, unless it is set to use another one."
        case (.node, _, .some(.nodeRejected)) where access.reception == .store:
            Failure.withoutStore
        case (.node, _, .some(.nodeRejected)):
            "Check the shard (--pubsub-topic), and that the node relays it (--relay=true)."
        case (_, _, .some(.nodeRejected)):
            Failure.unpublished
        case (.register, _, .some(.noReply)):
            """
            No reply arrived. Possible causes: the server is not running (look at its /health/ready); the key is another server's \
            (compare with `pushserver identity`); server and node are on different shards, or have no peers in between; or replies do not \
            get into the store of this node (its clock, or the server's, may be off by more than 20 seconds).
            """
        case (.query, _, .some(.noReply)):
            "The server registered a device, but does not reply on its query topic. It may not have subscribed in time: look at its log."
        case (_, _, .some(.noReply)):
            "The server replied before. It may be overloaded or stopping: look at its /health/ready and its log, and try again."
        case (_, _, .some(.registrationRejected)) where error?.rejection == .versionMismatch:
            "The version is the time in milliseconds: is this machine's clock right?"
        case (_, _, .some(.registrationRejected)) where error?.rejection == .internalError:
            "The server cannot write to its database: look at its /health/ready, its log and its disk."
        case (.delivery, _, _):
            "Accepted pushes wait in the server until this is corrected. docs/REASONS.md explains each reason."
        case (.outcome, .wrong(let words), _):
            Self.remedy(for: words)
        case (.push, .wrong, _):
            "The server contradicts its earlier replies. Look at its log."
        case (.query, .wrong, _):
            "Do not trust this server until you know the reason: it, or another service with its key, changes registrations."
        default:
            "Look at the server's log."
        }
    }

    private static func remedy(for words: String) -> String {
        Remedy.of(words).map { "\($0.text) (docs/\($0.page))" }
            ?? "docs/reference/GORUSH.md explains the texts; the server's /health/ready shows whether all pushes are affected."
    }
}
