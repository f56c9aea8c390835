import Logging
import ServiceLifecycle
import Synchronization

/// Collects the addresses as they are bound, and tells operators and the service manager when the server is ready, when it no longer is,
/// and when it is again.
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
    private let healthIssues: @Sendable () async -> [String]
    private let warnings: @Sendable () -> [String]
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let addresses = Mutex(Addresses())

    /// - Parameter publicKey: nil for the relay on its own, which has neither an identity nor an admin address.
    init(
        relayCount: Int, hasGateways: Bool = false, publicKey: String?, readyFile: ReadyFile?, serviceManager: ServiceManager? = nil,
        clock: any Clock<Duration>, logger: Logger, healthIssues: @escaping @Sendable () async -> [String],
        warnings: @escaping @Sendable () -> [String] = { [] }
    ) {
        self.relayCount = relayCount
        self.hasGateways = hasGateways
        self.publicKey = publicKey
        self.readyFile = readyFile
        self.serviceManager = serviceManager
        self.healthIssues = healthIssues
        self.warnings = warnings
        self.clock = clock
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

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await self.watch() }
    }

    private func watch() async throws {
        var state = ReadinessState()
        var told: String?
        repeat {
            let healthIssues = await self.healthIssues()
            let body = self.body
            let news = state.note(healthIssues, isListening: body != nil)
            switch news {
            case .ready:
                // First: who reads the line finds the file.
                if let body { try readyFile?.write(body) }
                logger.notice("ready")
            case .notReady: logger.warning("not ready", metadata: ["reasons": "\(healthIssues.joined(separator: "; "))"])
            // As loud as the trouble was.
            case .readyAgain: logger.warning("ready again")
            case nil: break
            }
            let status = state.status(warnings: warnings())
            if status != told, let serviceManager {
                let isTaken = state.hasBeenReady ? serviceManager.tell(.ready, .status(status)) : serviceManager.tell(.status(status))
                if isTaken { told = status }
            }
        } while (try? await clock.sleep(for: state.interval)) != nil
    }

    /// nil until every address is bound.
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

/// What is to be said of a server's readiness: a value, told how it is at each look.
struct ReadinessState {
    enum News: Equatable {
        /// For the first time.
        case ready
        /// Or for other reasons than before.
        case notReady
        case readyAgain
    }

    /// Looks before an operator hears what is missing: a normal start takes some of them, two seconds are no normal start.
    private static let patientLookCount = 40

    private(set) var hasBeenReady = false
    private var lookCount = 0
    private var healthIssues: [String] = []
    /// Those that were said last.
    private var said: [String] = []

    /// Until the next look.
    var interval: Duration { hasBeenReady ? .seconds(1) : .milliseconds(50) }

    mutating func note(_ healthIssues: [String], isListening: Bool) -> News? {
        self.healthIssues = healthIssues
        lookCount += 1
        if !hasBeenReady {
            guard !healthIssues.isEmpty || !isListening else {
                hasBeenReady = true
                said = []
                return .ready
            }
            guard lookCount > Self.patientLookCount, !healthIssues.isEmpty else { return nil }
        }
        guard healthIssues != said else { return nil }
        said = healthIssues
        return healthIssues.isEmpty ? .readyAgain : .notReady
    }

    /// A line for `systemctl status`.
    func status(warnings: [String]) -> String {
        if !hasBeenReady { return (["starting"] + healthIssues).joined(separator: "; ") }
        if !healthIssues.isEmpty { return "not ready: " + healthIssues.joined(separator: "; ") }
        return (["ready"] + warnings).joined(separator: "; ")
    }
}
