import Bytes
import Delivery
import Engine
import Envelope
import Foundation
import HTTPClient
import Logging
import NextcloudOrigin
import Observation
import PushProtocol
import Relay
import ServiceLifecycle
import Settings
import StatusCrypto
import Store
import Transport
import WakuREST

/// The parts of a server and their connections.
struct Composition {
    /// The values that all parts need.
    private struct Basis {
        let settings: Settings
        let files: ServerFiles
        let serviceManager: ServiceManager?
        let time: GuardedWallClock
        let connections: ConnectionBudget
        let logger: Logger

        var limits: ShutdownLimits { ShutdownLimits(gracePeriod: settings.shutdownGracePeriod) }
        var identity: IdentityBody { IdentityBody(files.identity.publicKey, keyFile: settings.identityKeyFile) }
        var relayAddresses: [ListenAddress] { settings.relayAddresses }
    }

    private let admin: ListeningService
    /// The delivery; nil for a dry run.
    private let delivery: DeliveryLoop?
    private let relays: [ListeningService]
    /// The listener of the gateways; nil if none is configured.
    private let gateways: ListeningService?
    /// The delivery to push proxies; nil without a Nextcloud origin.
    private let proxyDelivery: ProxyDelivery?
    /// The canary; nil if none is configured.
    private let canary: Canary?
    /// The automatic backups; nil if none are configured.
    private let backup: AutomaticBackup?
    private let writerWatch: WriterWatch
    private let readiness: Readiness
    private let engine: Engine
    private let status: StatusSampler
    private let resealing: ResealingService
    /// The membership among several servers; nil for a server with a database of its own.
    private let membership: ClusterMembership?

    init(
        _ settings: Settings, _ files: ServerFiles, openFileLimit: Int, metrics: PrometheusRegistry, process: ProcessMetrics,
        readyFile: ReadyFile?, serviceManager: ServiceManager?, logger: Logger
    ) async throws {
        let time = GuardedWallClock(.system, clock: ContinuousClock(), logger: logger)
        let basis = Basis(
            settings: settings, files: files, serviceManager: serviceManager, time: time,
            connections: settings.connectionBudget(openFileLimit: openFileLimit), logger: logger)
        let bus = Bus()
        let directory = try await TopicDirectory(serverKey: files.identity.publicKey, store: files.store)
        let transport = Self.transport(basis, bus)
        let delivery = Self.delivery(basis, directory)
        let proxyDelivery = Self.proxyDelivery(basis)
        let canaryNode = CanaryNode(transport: transport)
        let canary = try settings.canary.map { configuration in
            try Canary(
                configuration, identity: files.identity, serverName: settings.serverName, node: canaryNode,
                pubsubTopic: settings.pubsubTopics[0], clock: ContinuousClock(), wallClock: time.clock, logger: logger)
        }
        let backup = settings.backup.map { configuration in
            AutomaticBackup(
                configuration, database: settings.storagePath, identity: files.identity.publicKey.compressed, clock: ContinuousClock(),
                wallClock: time.clock, logger: logger)
        }
        let engine = try Self.engine(
            basis, directory, canary == nil ? transport : CanaryTransport(transport: transport, canary: canaryNode), delivery)
        let writerWatch = WriterWatch(serviceManager: serviceManager, clock: ContinuousClock(), write: engine.probeStore)
        let sinceStart = SteadyTime(clock: ContinuousClock(), start: time.clock.now())
        let damagedRows = DamagedRowConditions(store: files.store, time: sinceStart)
        let issues: @Sendable () -> [Condition] = {
            transport.healthIssues.map(Condition.node) + engine.healthIssues.map(Condition.store) + damagedRows.issues
                + Condition.issues(of: delivery?.reports ?? [])
        }
        let warnings: @Sendable () -> [Condition] = {
            time.warnings.map(Condition.clock) + transport.warnings.map(Condition.network) + engine.warnings.map(Condition.overload)
                + (engine.versionWarning.map { [Condition.clients($0)] } ?? [])
                + (delivery?.warnings.map(Condition.route) ?? [.dryRun]) + (proxyDelivery?.warnings ?? []).map(Condition.pushProxy)
                + damagedRows.warnings + (canary?.warnings ?? []).map(Condition.canary) + (backup?.warnings ?? []).map(Condition.backup)
        }
        let readiness = Readiness(
            relayCount: basis.relayAddresses.count, hasGateways: settings.gateways != nil, publicKey: basis.identity.publicKey,
            readyFile: readyFile, serviceManager: serviceManager, time: sinceStart, logger: logger, issues: issues,
            warnings: warnings)
        let gauges = Gauges(
            engine: engine, waku: transport as? WakuTransport, openFileLimit: openFileLimit, registry: metrics,
            healthIssues: { issues().map(\.text) })
        let storeGauges = StoreGauges(store: files.store, storage: settings.storage, registry: metrics)
        BuildMetrics.set(in: metrics, publicKey: basis.identity.publicKey, serverName: settings.serverName)
        let metricsText: @Sendable () async -> String = {
            await gauges.refresh()
            process.refresh()
            await storeGauges.refresh(at: time.clock.now())
            await delivery?.refreshMetrics()
            canary?.refreshMetrics()
            return metrics.render()
        }
        let runbook = RunbookPage()
        let sources = StatusSources(
            readiness: { readiness.observation }, figures: files.store.figures,
            engine: {
                .init(
                    messagesInFlight: engine.inFlightCount, waitingReplies: engine.waitingReplyCount,
                    topicDirectoryEntries: engine.queryTopicCount)
            },
            canary: {
                canary.map {
                    .init(
                        ageSeconds: Int($0.lastSuccessAge.components.seconds), hasSucceeded: $0.hasSucceeded, isLate: !$0.warnings.isEmpty,
                        problem: $0.problem)
                }
            },
            replyTimes: {
                let (bounds, counts) = metrics.counts(of: EngineMetrics.replySeconds)
                return ReplyTimes(bounds: bounds, counts: counts)
            },
            nodes: { (transport as? WakuTransport)?.nodeReports ?? [] }, routes: { delivery?.reports ?? [] },
            files: { .init(settings.storage) }, backupAge: { backup?.newestAge },
            sealing: { [store = files.store] in try? await store.sealingProgress() },
            members: { [cluster = files.store.cluster] in try? await cluster?.members().map(StatusSnapshot.Member.init) },
            finding: { [publicKey = files.identity.publicKey] in
                .init(
                    $0, pushLifetime: (settings.delivery?.lifetime ?? ProtocolLimits.pushLifetime).settingText,
                    shell: OperatorShell(settings, readiness, publicKey: publicKey), runbook: runbook)
            })
        let status = StatusSampler(
            sources, serverName: settings.serverName, publicKey: basis.identity.publicKey,
            file: StatusHistoryFile(path: settings.statusHistoryFile), time: sinceStart, wallClock: time.clock)
        admin = Self.admin(
            basis, directory, readiness, status, runbook, issues: issues, warnings: warnings, metrics: metricsText)
        self.status = status
        resealing = ResealingService(store: files.store, clock: ContinuousClock(), logger: logger)
        membership = files.store.cluster.map {
            ClusterMembership(
                cluster: $0, isReceiving: { transport.healthIssues.isEmpty }, clock: ContinuousClock(), logger: logger
            ) { work in
                engine.resume(work)
                proxyDelivery?.wake(work.waitingProxies)
            }
        }
        relays = Self.relays(basis, bus, readiness)
        gateways = Self.gateways(basis, delivery, proxyDelivery, readiness)
        self.proxyDelivery = proxyDelivery
        self.delivery = delivery
        self.canary = canary
        self.backup = backup
        self.writerWatch = writerWatch
        self.readiness = readiness
        self.engine = engine
        logger.notice("identity", metadata: ["publicKey": "\(basis.identity.publicKey)"])
    }

    /// The services with their names for the log, in the order in which they start.
    ///
    /// The services stop in reverse order. The engine stops receiving and drains while the relays still serve its replies. The gateways
    /// stop before the delivery, because they wait for its results. The delivery finishes its attempts before the relays stop, so no client
    /// of a relay delays it. The admin endpoints stop late, and the watch of the writer last, because a writer that hangs delays only its
    /// watch.
    var services: [ProcessLifetime.NamedService] {
        var services: [ProcessLifetime.NamedService] = [("writer watch", writerWatch)]
        if let membership { services.append(("cluster membership", membership)) }
        services += [("status", status), ("admin", admin)]
        services += relays.map { ("relay", $0) }
        if let delivery { services.append(("delivery", delivery)) }
        if let proxyDelivery { services.append(("delivery to push proxies", proxyDelivery)) }
        if let gateways { services.append(("gateways", gateways)) }
        services.append(("engine", engine))
        if let canary { services.append(("canary", canary)) }
        if let backup { services.append(("automatic backup", backup)) }
        services.append(("re-sealing", resealing))
        return services + [("readiness", readiness)]
    }

    // MARK: Parts

    private static func transport(_ basis: Basis, _ bus: Bus) -> any MessageTransport {
        let settings = basis.settings
        switch settings.transportKind {
        case .embedded:
            return EmbeddedTransport(bus: bus, pubsubTopics: settings.pubsubTopics)
        case .waku:
            let client = HTTPClient(configuration: .init(certificateAuthorityFile: settings.wakuCertificateAuthorityFile))
            return WakuTransport(
                nodes: settings.wakuURLs.map { WakuNode(url: $0, client: client, headers: settings.wakuHeaders) },
                configuration: settings.waku,
                checkpoints: basis.files.store, clock: ContinuousClock(), wallClock: basis.time.clock, logger: basis.logger)
        }
    }

    private static func delivery(_ basis: Basis, _ directory: TopicDirectory) -> DeliveryLoop? {
        guard var configuration = basis.settings.delivery else {
            basis.logger.warning("dry run: gorush.url is not set; accepted pushes are discarded")
            return nil
        }
        configuration.drainLimit = basis.limits.gracePeriod
        let store = basis.files.store
        return DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: basis.time.clock, logger: basis.logger,
            memberNumber: { store.cluster?.number ?? 0 },
            mayPost: { store.cluster?.holdsLease(as: $0, for: ClusterLimits.postingTime) ?? true },
            onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
    }

    private static func engine(
        _ basis: Basis, _ directory: TopicDirectory, _ transport: any MessageTransport, _ delivery: DeliveryLoop?
    ) throws -> Engine {
        var configuration = Engine.Configuration(
            identity: basis.files.identity, registrationPolicy: basis.settings.registrationPolicy, isDryRun: delivery == nil,
            workerCount: ProcessInfo.processInfo.activeProcessorCount, echoesReplies: basis.settings.echoesReplies,
            drainLimit: basis.limits.engine, transportLimit: basis.limits.transport)
        configuration.canaryKeyHash = try Canary.keyHash(for: basis.files.identity)
        return Engine(
            configuration: configuration, store: basis.files.store, directory: directory, transport: transport, clock: ContinuousClock(),
            wallClock: basis.time.clock,
            logger: basis.logger, confirmsDelivery: { delivery?.confirmsDelivery ?? false }, onAcceptedPushes: { delivery?.wake() })
    }

    private static func relays(_ basis: Basis, _ bus: Bus, _ readiness: Readiness) -> [ListeningService] {
        basis.relayAddresses.enumerated().map { index, address in
            let relay = RelayServer(
                configuration: .init(
                    host: address.host, port: address.port, pubsubTopics: basis.settings.pubsubTopics,
                    maximumConnectionCount: basis.connections.relay), bus: bus,
                clock: .system, logger: basis.logger, onListening: { readiness.relayListens(index, on: $0) })
            return ListeningService(relay, setting: "transport.embedded.listen", address: address)
        }
    }

    private static func proxyDelivery(_ basis: Basis) -> ProxyDelivery? {
        basis.settings.gateways?.nextcloudOrigin.map { settings in
            ProxyDelivery(
                store: basis.files.store, http: HTTPClient(), allowsLocalProxies: settings.configuration.allowsLocalProxies,
                clock: ContinuousClock(), wallClock: basis.time.clock, logger: basis.logger)
        }
    }

    private static func gateways(
        _ basis: Basis, _ delivery: DeliveryLoop?, _ proxyDelivery: ProxyDelivery?, _ readiness: Readiness
    ) -> ListeningService? {
        basis.settings.gateways.map { settings in
            let parts = GatewayParts(
                store: basis.files.store, identity: basis.files.identity, delivery: delivery, proxyDelivery: proxyDelivery,
                http: HTTPClient(), clock: ContinuousClock(), wallClock: basis.time.clock,
                workerCount: ProcessInfo.processInfo.activeProcessorCount, logger: basis.logger)
            let server = settings.server(
                parts, maximumConnectionCount: basis.connections.gateways, onListening: { readiness.gatewaysListen(on: $0) })
            return ListeningService(server, setting: "gateways.listen", address: settings.listen)
        }
    }

    private static func admin(
        _ basis: Basis, _ directory: TopicDirectory, _ readiness: Readiness, _ status: StatusSampler, _ runbook: RunbookPage?,
        issues: @escaping @Sendable () -> [Condition], warnings: @escaping @Sendable () -> [Condition],
        metrics: @escaping @Sendable () async -> String
    ) -> ListeningService {
        let (settings, store) = (basis.settings, basis.files.store)
        let restoreDeadTokens: @Sendable ([Int64]?) async throws -> Int = { ids in
            let restored = try await store.restoreDeadRegistrations(ids, at: basis.time.clock.now())
            directory.add(restored)
            return restored.count
        }
        let content = AdminServer.Content(
            healthIssues: { issues().map(\.text) }, warnings: { warnings().map(\.text) }, metrics: metrics,
            identityJSON: basis.identity.json,
            status: status.snapshot, runbook: runbook?.html,
            progress: { try await store.progress(ofPush: $0) }, restoreDeadTokens: restoreDeadTokens,
            drain: Drain.begin, token: basis.files.adminToken, allowedHosts: settings.adminAllowedHosts)
        let server = AdminServer(
            address: settings.adminListen, maximumConnectionCount: basis.connections.admin, content: content, logger: basis.logger,
            onListening: { readiness.adminListens(on: $0) })
        return ListeningService(server, setting: "admin.listen", address: settings.adminListen)
    }
}
