import Envelope
import Logging
import Observation
import ServiceLifecycle
import Settings
import Synchronization

/// Collects the addresses as they are bound, and reports the server's readiness to operators and the service manager.
///
/// The start is over for the service manager (`READY=1`) when every address is bound. From then on the server receives and keeps messages,
/// even if the node or gorush don't work. The log line, the ready file and `STATUS=` report readiness, which includes the node and gorush.
final class Readiness: Service {
    private struct Addresses {
        var admin: String?
        var relays: [Int: String] = [:]
        var gateways: String?
    }

    private let relayCount: Int
    private let hasGateways: Bool
    private let publicKey: String?
    private let readyFile: ReadyFile?
    private let serviceManager: ServiceManager?
    private let issues: @Sendable () -> [Condition]
    private let warnings: @Sendable () -> [Condition]
    private let time: SteadyTime
    private let logger: Logger
    private let addresses = Mutex(Addresses())
    private let observed = Mutex(ReadinessObservation())

    /// - Parameters:
    ///   - publicKey: The public key, or nil for a relay alone, which doesn't have an identity or an admin address.
    ///   - time: The time that starts with the server.
    ///   - issues: The reasons why the server is not ready, or empty if it is.
    init(
        relayCount: Int, hasGateways: Bool = false, publicKey: String?, readyFile: ReadyFile?, serviceManager: ServiceManager? = nil,
        time: SteadyTime, logger: Logger, issues: @escaping @Sendable () -> [Condition] = { [] },
        warnings: @escaping @Sendable () -> [Condition] = { [] }
    ) {
        self.relayCount = relayCount
        self.hasGateways = hasGateways
        self.publicKey = publicKey
        self.readyFile = readyFile
        self.serviceManager = serviceManager
        self.issues = issues
        self.warnings = warnings
        self.time = time
        self.logger = logger
    }

    func adminListens(on address: ListenAddress) {
        logger.notice("admin endpoints are up", metadata: ["address": "\(address)"])
        addresses.withLock { $0.admin = address.description }
    }

    func relayListens(_ index: Int, on address: String) {
        logger.notice("embedded relay is up", metadata: ["address": "\(address)"])
        addresses.withLock { $0.relays[index] = address }
    }

    func gatewaysListen(on address: String) {
        logger.notice("the gateways are up", metadata: ["address": "\(address)"])
        addresses.withLock { $0.gateways = address }
    }

    /// The admin endpoints' address, or nil before they listen.
    var adminAddress: String? { addresses.withLock(\.admin) }

    /// The first embedded relay's address, or nil before it listens, and without embedded relays.
    var relayAddress: String? { addresses.withLock { $0.relays[0] } }

    /// The newest observation, at most a second old.
    var observation: ReadinessObservation { observed.withLock { $0 } }

    /// Looks now.
    func observe() -> ReadinessObservation {
        let (issues, warnings) = (self.issues(), self.warnings())
        return observed.withLock { observed in
            observed.update(issues: issues, warnings: warnings, at: time.elapsed())
            return observed
        }
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await self.watch() }
    }

    private func watch() async throws {
        var state = ReadinessState()
        var reported: [ServiceManager.Notification] = []
        var notReadySince = Duration.zero
        repeat {
            // The observation precedes the file, because whoever reads the file expects to see it.
            let now = observe()
            if !now.isReady { notReadySince = now.since }
            let healthIssues = now.issues.map(\.condition.text)
            let body = self.body
            let change = state.update(healthIssues, isListening: body != nil)
            // The file is written before the log line, because whoever reads the line expects the file.
            if change == .ready || change == .readyAfterDelay, let body { try readyFile?.write(body) }
            switch change {
            case .ready: logger.notice("ready")
            case .notReady: logger.warning("not ready", metadata: ["reasons": "\(healthIssues.joined(separator: "; "))"])
            case .otherReasons:
                logger.warning(
                    "not ready",
                    metadata: [
                        "reasons": "\(healthIssues.joined(separator: "; "))",
                        "seconds": "\((time.elapsed() - now.since).components.seconds)",
                    ])
            // The level is the same as for "not ready", so that a filter shows both.
            case .readyAfterDelay: logger.warning("ready")
            case .readyAgain: logger.warning("ready again", metadata: ["after": "\((now.since - notReadySince).components.seconds) s"])
            case nil: break
            }
            let report =
                (body == nil ? [] : [.ready]) + [
                    ServiceManager.Notification.status(state.status(warnings: now.warnings.map(\.condition.text)))
                ]
            if report != reported, let serviceManager, serviceManager.notify(report) { reported = report }
        } while await time.sleep(for: state.interval)
    }

    /// The ready file's contents, or nil until every address is bound.
    private var body: ReadyFileBody? {
        addresses.withLock { addresses in
            guard addresses.relays.count == relayCount, !hasGateways || addresses.gateways != nil,
                publicKey == nil || addresses.admin != nil
            else { return nil }
            return ReadyFileBody(
                admin: addresses.admin, relays: addresses.relays.sorted { $0.key < $1.key }.map(\.value), gateways: addresses.gateways,
                publicKey: publicKey)
        }
    }
}

/// A state machine that decides which readiness changes are reported.
struct ReadinessState {
    enum Change: Equatable {
        /// Ready after a normal start.
        case ready
        case notReady
        /// Not ready for other reasons than before.
        case otherReasons
        /// Ready for the first time, after ``notReady``.
        case readyAfterDelay
        case readyAgain
    }

    /// Startup may take so many polls (2 s) before it is reported as not ready. A normal startup takes a few.
    private static let startCheckCount = 40

    private var hasBeenReady = false
    private var checkCount = 0
    private var healthIssues: [String] = []
    /// The issues that were reported last.
    private var reported: [String] = []

    /// The time until the next poll: 50 ms during a normal start, then 1 s.
    var interval: Duration { isStarting ? .milliseconds(50) : .seconds(1) }

    private var isStarting: Bool { !hasBeenReady && checkCount <= Self.startCheckCount }

    /// Takes a poll's result.
    ///
    /// - Parameters:
    ///   - healthIssues: The reasons why the server is not ready, or empty if it is.
    ///   - isListening: Whether every address is bound.
    /// - Returns: The change to report, or nil if none exists.
    mutating func update(_ healthIssues: [String], isListening: Bool) -> Change? {
        self.healthIssues = healthIssues
        checkCount += 1
        if !hasBeenReady {
            guard !healthIssues.isEmpty || !isListening else {
                hasBeenReady = true
                defer { reported = [] }
                return reported.isEmpty ? .ready : .readyAfterDelay
            }
            guard !isStarting, !healthIssues.isEmpty else { return nil }
        }
        guard healthIssues != reported else { return nil }
        defer { reported = healthIssues }
        return healthIssues.isEmpty ? .readyAgain : reported.isEmpty ? .notReady : .otherReasons
    }

    /// A line for `systemctl status`.
    func status(warnings: [String]) -> String {
        if isStarting { return (["starting"] + healthIssues).joined(separator: "; ") }
        if !healthIssues.isEmpty { return "not ready: " + healthIssues.joined(separator: "; ") }
        return ([hasBeenReady ? "ready" : "starting"] + warnings).joined(separator: "; ")
    }
}
