import Envelope
package import PushClient
import PushProtocol
import StatusCrypto

/// A test device's life at a server, step by step.
package struct Checkup {
    enum Kind: String {
        /// Whether the admin endpoints that the operator named belong to the server.
        case admin
        case node
        case register
        case query
        case push
        /// The end of the push on a device, by what the server's admin endpoints say.
        case outcome
        case unregister
        /// From the outbox through gorush to Apple and Google, by what the server's admin endpoints say.
        case delivery
    }

    /// What went wrong in a step.
    enum Problem: CustomStringConvertible {
        case error(PushClientError)
        /// An answer came, but not the right one.
        case wrong(String)

        var description: String {
            switch self {
            case .error(let error): error.description
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
    /// A UUID: the reference's servers refuse any other.
    private var installationID: String { identity.derivedInstallationID }

    package init(server: PushServer, node: Node, device: Device) {
        self.server = server
        self.node = node
        self.device = device
    }

    /// Goes on as long as it makes sense; whatever was registered is unregistered in any case.
    ///
    /// - Parameter outcome: Waits for the outcome of the push with a deduplication key and returns what went wrong; nil if no admin
    ///   endpoints can be asked. It is called only for a device that wants to be notified.
    func run(outcome: ((Digest32) async -> Problem?)?, _ report: (Step) -> Void) async -> [Step] {
        var steps: [Step] = []
        func step(_ kind: Kind, _ body: () async throws(PushClientError) -> Problem?) async -> Bool {
            let start = ContinuousClock.now
            let problem: Problem?
            do throws(PushClientError) {
                problem = try await body()
            } catch {
                problem = .error(error)
            }
            let step = Step(kind: kind, duration: ContinuousClock.now - start, problem: problem)
            steps.append(step)
            report(step)
            return problem == nil
        }

        guard await step(.node, checkNode) else { return steps }
        var receipt: RegistrationReceipt?
        let isRegistered = await step(.register) { () async throws(PushClientError) in
            receipt = try await server.register(device, installationID: installationID, as: identity)
            return nil
        }
        if isRegistered, let receipt {
            _ = await step(.query) { () async throws(PushClientError) in try await query(receipt) }
            var pushed: Digest32?
            let isAccepted = await step(.push) { () async throws(PushClientError) in
                let message = PushMessage(kind: .message, messageID: PushMessage.randomMessageID())
                pushed = deduplicationKey(of: message)
                return try await push(message, receipt)
            }
            // Unregistering withdraws a push that waits.
            if isAccepted, device.isEnabled, let pushed, let outcome { _ = await step(.outcome) { () async in await outcome(pushed) } }
        }
        // A registration that went unanswered may have been stored.
        _ = await step(.unregister) { () async throws(PushClientError) in
            _ = try await server.unregister(installationID: installationID, version: receipt.map { $0.version + 1 }, as: identity)
            return nil
        }
        return steps
    }

    private func checkNode() async throws(PushClientError) -> Problem? {
        _ = try await node.exchange.messages(on: [TopicName.partitioned(identity.publicKey.publicKey).topic], since: node.now)
        return nil
    }

    private func query(_ receipt: RegistrationReceipt) async throws(PushClientError) -> Problem? {
        let answer = try await server.query(.key(identity.publicKey))
        guard answer.rejectedCount == 0 else { return .wrong("The server's answer is not what was registered: the grant is not ours.") }
        guard answer.devices.map(\.accessToken) == [receipt.accessToken], answer.devices.map(\.version) == [receipt.version] else {
            return .wrong("The server's answer is not what was registered: another access token or version.")
        }
        return nil
    }

    private func deduplicationKey(of message: PushMessage) -> Digest32 {
        let target = Installation(keyHash: identity.publicKey.hash.bytes, installationID: installationID)
        return DeduplicationKey.digest(messageID: message.messageID, installation: target)
    }

    private func push(_ message: PushMessage, _ receipt: RegistrationReceipt) async throws(PushClientError) -> Problem? {
        let target = PushDevice(person: .key(identity.publicKey), installationID: installationID, accessToken: receipt.accessToken ?? "")
        let reports = try await server.push(message, to: [target])
        guard reports.map(\.outcome) == [.accepted] else {
            return .wrong("The push was not accepted: \(reports.map(\.outcome.description).joined(separator: ", "))")
        }
        return nil
    }
}

extension Checkup.Step {
    /// What to try next.
    var advice: String {
        switch (kind, problem) {
        case (.admin, _):
            "Compare the key with `pushserver identity` on the server's machine, and name that server's admin endpoints with --admin."
        case (_, .error(.nodeUnreachable)):
            "nwaku has a REST API with --rest=true; `pushserver serve` has a node inside, unless it is set to use another one."
        case (.node, .error(.nodeRefused)):
            "nwaku has a store with --store=true. Check the shard too (--pubsub-topic)."
        case (_, .error(.nodeRefused)):
            Failure.unpublished
        case (.register, .error(.noAnswer)):
            """
            Nothing came back, so one of these is wrong: the server is not running (look at its /health/ready); it is another server's key \
            (compare with `pushserver identity`); server and node do not meet: another shard, or no peers in between; or answers do not \
            get into the store of this node (its clock may be off by more than 20 seconds).
            """
        case (.query, .error(.noAnswer)):
            "It registered a device, but does not answer on the device's query topic: it may not have subscribed in time. Look at its log."
        case (_, .error(.noAnswer)):
            "It answered before. It may be overloaded or have been stopped just now: look at its /health/ready and its log, and try again."
        case (_, .error(.registrationRefused(.versionMismatch))):
            "The version is the time in milliseconds: is this machine's clock right?"
        case (_, .error(.registrationRefused(.internalError))):
            "The server cannot write to its database: look at its /health/ready, its log and its disk."
        case (.delivery, _):
            "What is accepted waits in the server until this is put right; docs/OPERATE.md tells what each of these means."
        case (.outcome, .wrong(let words)):
            Self.remedy(for: words)
        case (.push, .wrong):
            "The server contradicts what it said before. Look at its log."
        case (.query, .wrong):
            "Do not trust this server before it is clear why: it, or something that answers in its name, changes what clients registered."
        default:
            "Look at the server's log."
        }
    }

    /// What an operator or the owner of the device does about the words of Apple and Google (docs/DELIVERY.md).
    private static let remedies: [(words: [String], remedy: String)] = [
        (
            ["Unregistered", "ExpiredToken"],
            "The app was removed from the device, or has a newer token: read the token from the app again."
        ),
        (
            ["BadDeviceToken"],
            "The token is of the other one of Apple's environments, or of another app: compare ios.production of gorush with how the app was built."
        ),
        (
            ["DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic"],
            "--apn-topic has to be the app's bundle id, and of the team of gorush's key."
        ),
        (
            ["SenderId mismatch", "Requested entity was not found", "The registration token is not"],
            "The token is of another Firebase project than gorush's service account, or no longer valid."
        ),
        (
            [
                "ProviderToken", "KeyId", "Forbidden", "oauth2", "cannot fetch token", "credential", "ermission",
                "has not been used in project",
            ],
            "Apple or Google refuses gorush itself: correct its key, key id and team, or its service account."
        ),
        (["suspected token"], "The device was refused less than 10 minutes ago, and is tried every 10 minutes: try again later."),
        (["queue full"], "As many pushes wait as may: look at the server's /health/ready."),
    ]

    private static func remedy(for words: String) -> String {
        remedies.first { $0.words.contains { words.contains($0) } }?.remedy
            ?? "docs/DELIVERY.md tells what each of the words means, and the server's /health/ready whether it concerns all pushes."
    }
}
