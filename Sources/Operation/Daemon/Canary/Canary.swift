import Bytes
import CoreMetrics
import Engine
import Envelope
import Foundation
import Logging
import MetricDeclarations
import PushClient
import ServiceLifecycle
import Settings
import StatusCrypto
import Synchronization
import Wire

/// A client with which the server tests itself (`canary.interval`). It registers a device, queries it and requests a push, through the node
/// like every other client.
///
/// The push ends before gorush as `discarded`, unless the operator names a device that receives it. All servers on a database share a
/// canary key, because any of them may decide any canary's message. Each server has its own installation under that key.
final class Canary: Service {
    /// The time from the start to the first check: the transport needs a moment to subscribe.
    private static let startDelay = Duration.seconds(5)
    /// The longest time to the next check after a failed check.
    private static let maximumRetryInterval = Duration.seconds(30)
    /// Enough for a healthy node and database. Otherwise the registration stays, and the next start renews it.
    private static let unregistrationLimit = Duration.seconds(3)

    private let configuration: CanarySettings
    private let owner: Identity
    private let installationID: String
    private let server: PushServer
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let record: Mutex<CanaryRecord>
    private let age = ageMetric.gauge()
    private let interval = intervalMetric.gauge()
    private let checks = checksMetric.counters(by: CheckResult.self)

    /// - Parameters:
    ///   - identity: This server's key, from which the canary's key derives.
    ///   - serverName: This server's name, which distinguishes it from other servers on its database, so that each start renews the same
    ///     registration.
    ///   - node: The node through which the canary publishes and receives.
    ///   - timeout: The time to wait for each reply.
    init(
        _ configuration: CanarySettings, identity: PrivateKey, serverName: String, node: CanaryNode, pubsubTopic: String,
        timeout: Duration = PushServer.defaultTimeout, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger
    ) throws(InvalidPrivateKey) {
        self.configuration = configuration
        owner = try Self.owner(for: identity)
        installationID = owner.derivedInstallationID(of: serverName)
        server = PushServer(
            PushClient.PublicKey(identity.publicKey),
            node: Node(transport: node, pubsubTopic: pubsubTopic, clock: clock, wallClock: wallClock),
            timeout: timeout)
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        record = Mutex(CanaryRecord(interval: configuration.interval, start: wallClock.now()))
    }

    /// The key under which the canaries register on all servers with this identity.
    private static func owner(for identity: PrivateKey) throws(InvalidPrivateKey) -> Identity {
        let seed = identity.withExposedBytes { SHA256.hash(Array("pushserver canary".utf8) + [UInt8](copying: $0)) }
        return Identity(try PrivateKey(seed))
    }

    /// The hash of that key, for a server that recognises the pushes of any canary.
    static func keyHash(for identity: PrivateKey) throws(InvalidPrivateKey) -> Digest64 { try owner(for: identity).publicKey.hash.bytes }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            try await self.clock.sleep(for: Self.startDelay)
            while !Task.isCancelled {
                let isSuccess = await self.check()
                try await self.clock.sleep(
                    for: isSuccess ? self.configuration.interval : min(self.configuration.interval, Self.maximumRetryInterval))
            }
        }
        if hasSucceeded { await unregister() }
    }

    /// Unregisters the installation, so that servers that leave a cluster leave nothing behind.
    private func unregister() async {
        await withTaskGroup { group in
            group.addTask { _ = try? await self.server.unregister(installationID: self.installationID, as: self.owner) }
            group.addTask { try? await self.clock.sleep(for: Self.unregistrationLimit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Makes a single check and records the result.
    ///
    /// - Returns: Whether the push was accepted.
    func check() async -> Bool {
        var problem: String?
        do {
            problem = try await checkOnce()
        } catch {
            guard !(error is CancellationError) else { return false }
            problem = "\(error)"
        }
        checks[problem == nil ? .succeeded : .failed]?.increment()
        switch record.withLock({ $0.add(problem, at: wallClock.now()) }) {
        case .fails(let problem): logger.warning("the canary fails", metadata: ["reason": "\(problem)"])
        case .works: logger.warning("the canary no longer fails")
        case nil: break
        }
        return problem == nil
    }

    /// - Returns: What is wrong with the reply, or nil if the push was accepted.
    private func checkOnce() async throws -> String? {
        let device = configuration.device ?? Device(deviceToken: CanaryDevice.token.text, service: .firebase)
        let receipt = try await server.register(device, installationID: installationID, as: owner)
        let found = try await server.query(.key(owner.publicKey)).devices.filter { $0.installationID == installationID }
        guard found.map(\.version) == [receipt.version], let token = found.first?.accessToken, token == receipt.accessToken else {
            return "the response to a query is not what was registered"
        }
        let target = PushDevice(owner: .key(owner.publicKey), installationID: installationID, accessToken: token)
        let reports = try await server.push(PushMessage(kind: .message, messageID: PushMessage.randomMessageID()), to: [target])
        guard reports.map(\.outcome) == [.accepted] else {
            return "the push was not accepted: \(reports.map(\.outcome.description).joined(separator: ", "))"
        }
        return nil
    }

    /// The time since the last accepted push, or since the start if none was accepted yet.
    var lastSuccessAge: Duration { record.withLock { $0.age(at: wallClock.now()) } }

    /// Whether a check has succeeded since the start.
    var hasSucceeded: Bool { record.withLock(\.hasSucceeded) }

    /// Why the newest check failed. Nil if it succeeded, or if no check was made yet.
    var problem: String? { record.withLock(\.problem) }

    var warnings: [String] { record.withLock { $0.warnings(at: wallClock.now()) } }

    /// Sets the gauges. Call this before the metrics are read.
    func refreshMetrics() {
        age.set(lastSuccessAge / .seconds(1))
        interval.set(configuration.interval / .seconds(1))
    }
}

extension Canary {
    private enum CheckResult: String, MetricLabels {
        case succeeded
        case failed

        static let labelNames = ["result"]
    }

    static let declarations = [ageMetric, intervalMetric, checksMetric]

    private static let ageMetric = Metric(
        .gauge, "pushserver_canary_age_seconds",
        help: "Time since the canary's last accepted push, or since the start before the first one.")
    private static let intervalMetric = Metric(
        .gauge, "pushserver_canary_interval_seconds", help: "Time between two checks of the canary (canary.interval).")
    private static let checksMetric = Metric(
        .counter, "pushserver_canary_checks_total", by: CheckResult.self, help: "Checks of the canary, by result.")
}

/// What a canary's checks have found so far.
struct CanaryRecord {
    /// A change that the log reports.
    enum Change: Equatable {
        case fails(String)
        case works
    }

    /// After so many intervals without success the canary is late. A single check may meet a node that restarts.
    private static let maximumIntervalCount = 3

    private let interval: Duration
    private var lastSuccess: Timestamp
    private(set) var hasSucceeded = false
    private(set) var problem: String?

    init(interval: Duration, start: Timestamp) {
        self.interval = interval
        lastSuccess = start
    }

    /// Records a result.
    ///
    /// - Parameter newProblem: Why the check failed, or nil if it succeeded.
    /// - Returns: The change since the previous check, or nil if there is none.
    mutating func add(_ newProblem: String?, at now: Timestamp) -> Change? {
        defer { problem = newProblem }
        guard let newProblem else {
            lastSuccess = now
            hasSucceeded = true
            return problem == nil ? nil : .works
        }
        return problem == nil ? .fails(newProblem) : nil
    }

    /// The time since the last success, or since the start.
    func age(at now: Timestamp) -> Duration { max(.zero, lastSuccess.duration(to: now)) }

    /// Why the canary is late, or empty while it is in time.
    func warnings(at now: Timestamp) -> [String] {
        guard let problem, age(at: now) > interval * Self.maximumIntervalCount else { return [] }
        return ["canary: the server has accepted no test push for \(age(at: now).components.seconds) s: \(problem)"]
    }
}
