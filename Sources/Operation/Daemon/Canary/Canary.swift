import Bytes
import CoreMetrics
import Engine
import Envelope
import Foundation
import Logging
import MetricDeclarations
import Observation
import PushClient
import PushProtocol
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
    private let time: SteadyTime
    private let storedVersion: @Sendable () async throws -> UInt64?
    private let logger: Logger
    /// The version of the newest registration, or nil before the first.
    private let version = Mutex<UInt64?>(nil)
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
    ///   - storedVersion: Returns the version of an installation that the database has.
    init(
        _ configuration: CanarySettings, identity: PrivateKey, serverName: String, node: CanaryNode, pubsubTopic: String,
        timeout: Duration = PushServer.defaultTimeout, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger,
        storedVersion: @escaping @Sendable (_ installation: Installation) async throws -> UInt64?
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
        time = SteadyTime(clock: clock, start: wallClock.now())
        let installation = Installation(keyHash: owner.publicKey.hash.bytes, installationID: installationID)
        self.storedVersion = { try await storedVersion(installation) }
        record = Mutex(CanaryRecord(interval: configuration.interval))
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
        if record.withLock(\.hasSucceeded) { await unregister() }
    }

    /// Unregisters the installation, so that servers that leave a cluster leave nothing behind.
    private func unregister() async {
        await withTaskGroup { group in
            group.addTask {
                _ = try? await self.server.unregister(installationID: self.installationID, version: self.nextVersion(), as: self.owner)
            }
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
        switch record.withLock({ $0.add(problem, at: time.elapsed()) }) {
        case .fails(let problem): logger.warning("the canary fails", metadata: ["reason": "\(problem)"])
        case .works: logger.warning("the canary no longer fails")
        case nil: break
        }
        return problem == nil
    }

    /// - Returns: What is wrong with the reply, or nil if the push was accepted.
    private func checkOnce() async throws -> String? {
        let device = configuration.device ?? Device(deviceToken: CanaryDevice.token.text, service: .firebase)
        let receipt = try await register(device)
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

    /// Registers the device with a higher version than before, although the clock may have been set back.
    private func register(_ device: Device) async throws -> RegistrationReceipt {
        do {
            return try await server.register(device, installationID: installationID, version: nextVersion(), as: owner)
        } catch let error as PushClientError where error.rejection == .versionMismatch {
            // An earlier run has registered by a clock that was ahead.
            guard let stored = try await storedVersion() else { throw error }
            version.withLock { $0 = stored }
            return try await server.register(device, installationID: installationID, version: nextVersion(), as: owner)
        }
    }

    private func nextVersion() -> UInt64 {
        let present = RegistrationPlan.version(at: wallClock.now())
        return version.withLock { version in
            let next = max(present, version.map { $0 &+ 1 } ?? 0)
            version = next
            return next
        }
    }

    /// The time since the last accepted push, or since the start if none was accepted yet.
    var lastSuccessAge: Duration { record.withLock { $0.age(at: time.elapsed()) } }

    var status: StatusSnapshot.Canary {
        let now = time.elapsed()
        return record.withLock {
            .init(
                ageSeconds: Int($0.age(at: now).components.seconds), hasSucceeded: $0.hasSucceeded, isLate: $0.isLate(at: now),
                problem: $0.problem)
        }
    }

    var warnings: [String] { record.withLock { $0.warnings(at: time.elapsed()) } }

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
    /// When the last push was accepted, or zero if none was. Times count from the start.
    private var lastSuccess = Duration.zero
    private(set) var hasSucceeded = false
    private(set) var problem: String?

    init(interval: Duration) {
        self.interval = interval
    }

    /// Records a result.
    ///
    /// - Parameter newProblem: Why the check failed, or nil if it succeeded.
    /// - Returns: The change since the previous check, or nil if there is none.
    mutating func add(_ newProblem: String?, at now: Duration) -> Change? {
        defer { problem = newProblem }
        guard let newProblem else {
            lastSuccess = now
            hasSucceeded = true
            return problem == nil ? nil : .works
        }
        return problem == nil ? .fails(newProblem) : nil
    }

    /// The time since the last success, or since the start.
    func age(at now: Duration) -> Duration { now - lastSuccess }

    func isLate(at now: Duration) -> Bool { problem != nil && age(at: now) > interval * Self.maximumIntervalCount }

    /// Why the newest check failed, or empty if it succeeded.
    func warnings(at now: Duration) -> [String] {
        guard let problem else { return [] }
        guard isLate(at: now) else { return ["canary: the last check failed: \(problem)"] }
        return ["canary: the server has accepted no test push for \(age(at: now).components.seconds) s: \(problem)"]
    }
}
