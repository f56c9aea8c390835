import Logging
import ServiceLifecycle
import Synchronization

/// Collects the addresses as they are bound, and announces the server once it is ready.
final class Readiness: Service {
    private struct State {
        var admin: String?
        var relays: [Int: String] = [:]
        var gateways: String?
    }

    /// How often a server that is not ready looks again.
    private static let pollInterval = Duration.milliseconds(50)
    /// Looks before an operator hears what is missing: a normal start takes some of them, two seconds are no normal start.
    private static let patientLookCount = 40

    private let relayCount: Int
    private let hasGateways: Bool
    private let publicKey: String?
    private let readyFile: ReadyFile?
    private let troubles: @Sendable () async -> [String]
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter publicKey: nil for the relay on its own, which has neither an identity nor an admin address.
    init(
        relayCount: Int, hasGateways: Bool = false, publicKey: String?, readyFile: ReadyFile?, clock: any Clock<Duration>, logger: Logger,
        troubles: @escaping @Sendable () async -> [String]
    ) {
        self.relayCount = relayCount
        self.hasGateways = hasGateways
        self.publicKey = publicKey
        self.readyFile = readyFile
        self.troubles = troubles
        self.clock = clock
        self.logger = logger
    }

    func adminListens(on address: ListenAddress) {
        logger.notice("admin endpoints are up", metadata: ["address": "\(address)"])
        state.withLock { $0.admin = address.description }
    }

    func relayListens(_ index: Int, on address: String) {
        logger.notice("embedded relay is up", metadata: ["address": "\(address)"])
        state.withLock { $0.relays[index] = address }
    }

    func gatewaysListen(on address: String) {
        logger.notice("the gateways are up", metadata: ["address": "\(address)"])
        state.withLock { $0.gateways = address }
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await self.announce() }
    }

    private func announce() async throws {
        var last: [String] = []
        var lookCount = 0
        while true {
            lookCount += 1
            let current = await self.troubles()
            if let body = body, current.isEmpty {
                // First: who reads the line finds the file.
                try readyFile?.write(body)
                logger.notice("ready")
                break
            }
            if lookCount > Self.patientLookCount, current != last, !current.isEmpty {
                logger.warning("not ready", metadata: ["reasons": "\(current.joined(separator: "; "))"])
                last = current
            }
            do { try await clock.sleep(for: Self.pollInterval) } catch { return }
        }
        try? await gracefulShutdown()
    }

    /// nil until every address is bound.
    private var body: ReadyFileBody? {
        state.withLock { state in
            guard state.relays.count == relayCount, !hasGateways || state.gateways != nil, publicKey == nil || state.admin != nil else {
                return nil
            }
            return ReadyFileBody(
                admin: state.admin, relays: state.relays.sorted { $0.key < $1.key }.map(\.value), gateways: state.gateways,
                publicKey: publicKey)
        }
    }
}
