import Delivery
import Engine
import Envelope
import Foundation
import HTTPClient
import Logging
import MessageBus
import Relay
import ServiceLifecycle
import StatusCrypto
import Store
import Transport
import WakuREST

/// The parts of a server, and how they hang together.
struct Composition {
    private let admin: ListeningService
    /// nil: a dry run.
    private let delivery: DeliveryLoop?
    private let relays: [ListeningService]
    private let readiness: Readiness
    private let engine: Engine

    init(
        _ settings: Settings, _ files: ServerFiles, metrics: PrometheusRegistry, readyFile: ReadyFile?, logger: Logger
    ) async throws {
        let limits = ShutdownLimits(gracePeriod: settings.shutdownGracePeriod)
        let identity = IdentityBody(files.identity.publicKey)
        logger.notice("identity", metadata: ["publicKey": "\(identity.publicKey)"])
        let bus = Bus()
        let transport = Self.transport(settings, bus: bus, checkpoints: files.store, logger: logger)
        let directory = try await TopicDirectory(serverKey: files.identity.publicKey, store: files.store)
        let delivery = Self.delivery(settings, limits, store: files.store, directory: directory, logger: logger)
        let engine = Engine(
            configuration: .init(
                identity: files.identity, registrationPolicy: settings.registrationPolicy, isDryRun: delivery == nil,
                workerCount: ProcessInfo.processInfo.activeProcessorCount, echoesReplies: settings.echoesReplies,
                drainLimit: limits.engine, transportLimit: limits.transport),
            store: files.store, directory: directory, transport: transport, clock: ContinuousClock(), wallClock: .system, logger: logger,
            onAcceptedPushes: { delivery?.wake() })
        let troubles: @Sendable () async -> [String] = { transport.troubles + engine.troubles + (delivery?.troubles ?? []) }

        let relayAddresses = settings.transportKind == .embedded ? settings.embeddedListen : []
        let readiness = Readiness(
            relayCount: relayAddresses.count, publicKey: identity.publicKey, readyFile: readyFile, clock: ContinuousClock(),
            logger: logger, troubles: troubles)
        relays = relayAddresses.enumerated().map { index, address in
            let relay = RelayServer(
                configuration: .init(host: address.host, port: address.port, pubsubTopics: settings.pubsubTopics), bus: bus,
                clock: .system, logger: logger, onListening: { readiness.relayListens(index, on: $0) })
            return ListeningService(relay, setting: "transport.embedded.listen", address: address)
        }
        let gauges = Gauges(store: files.store, engine: engine, waku: transport as? WakuTransport)
        let metricsText: @Sendable () async -> String = {
            await gauges.refresh()
            await delivery?.refreshMetrics()
            return metrics.render()
        }
        let restoreDeadTokens: @Sendable ([Int64]?) async throws -> Int = { ids in
            let restored = try await files.store.restoreDeadRegistrations(ids, at: WallClock.system.now())
            directory.add(restored)
            return restored.count
        }
        var feedback: (@Sendable (GorushFailure) async -> Void)?
        if let delivery { feedback = { await delivery.feedback($0) } }
        let adminServer = AdminServer(
            address: settings.adminListen,
            content: AdminServer.Content(
                troubles: troubles, warnings: { transport.warnings + (delivery?.warnings ?? []) }, metrics: metricsText,
                identityJSON: identity.json,
                feedback: feedback, feedbackSecret: settings.feedbackSecret, restoreDeadTokens: restoreDeadTokens,
                token: files.adminToken, allowedHosts: settings.adminAllowedHosts),
            logger: logger, onListening: { readiness.adminListens(on: $0) })
        admin = ListeningService(adminServer, setting: "admin.listen", address: settings.adminListen)
        self.delivery = delivery
        self.readiness = readiness
        self.engine = engine
    }

    /// Everything that runs, with its name for the log, in the order in which it starts.
    ///
    /// It ends in reverse: the engine stops receiving and drains while the relays still hand out its replies; then the delivery finishes
    /// what it is posting, and no client of a relay can hold that up; the admin endpoints go last.
    var services: [ProcessLifetime.NamedService] {
        var services: [ProcessLifetime.NamedService] = [("admin", admin)]
        services += relays.map { ("relay", $0) }
        if let delivery { services.append(("delivery", delivery)) }
        return services + [("readiness", readiness), ("engine", engine)]
    }

    private static func transport(
        _ settings: Settings, bus: Bus, checkpoints: PushStore, logger: Logger
    ) -> any MessageTransport {
        switch settings.transportKind {
        case .embedded:
            return EmbeddedTransport(bus: bus, pubsubTopics: settings.pubsubTopics)
        case .waku:
            let client = HTTPClient()
            return WakuTransport(
                nodes: settings.wakuURLs.map { WakuNode(url: $0, client: client) }, configuration: settings.waku, checkpoints: checkpoints,
                clock: ContinuousClock(), wallClock: .system, logger: logger)
        }
    }

    private static func delivery(
        _ settings: Settings, _ limits: ShutdownLimits, store: PushStore, directory: TopicDirectory, logger: Logger
    ) -> DeliveryLoop? {
        guard var configuration = settings.delivery else {
            logger.warning("DRY RUN: no gorush.url is set; pushes are accepted and discarded, none leaves this machine")
            return nil
        }
        configuration.drainLimit = limits.gracePeriod
        return DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: .system, logger: logger,
            onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
    }
}

extension PushStore: CheckpointKeeper {}
