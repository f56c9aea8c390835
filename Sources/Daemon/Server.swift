import CoreMetrics
import Delivery
import Engine
import Envelope
import Foundation
import HTTPClient
import KeyFiles
package import Logging
import MessageBus
import Relay
import SQLiteStore
import ServiceLifecycle
import StatusCrypto
import Store
import Transport
import UnixSignals
import WakuREST

/// The daemon: builds every part from the settings and runs them as one group of services.
package enum Server {
    /// For a request to gorush that hangs until its time-out; then what is left is cancelled. What was accepted is in the database.
    private static let maximumShutdownDuration = Duration.seconds(80)

    /// Runs until SIGTERM or SIGINT, then drains. To be called once in a process: it binds the metrics.
    ///
    /// - Throws: `KeyFileError`, `StoreError` and `InstanceLockError` before anything started; whatever a service failed with later.
    package static func run(_ settings: Settings, readyFile: String?, logger: Logger) async throws {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)

        let identity = try KeyFile(path: settings.identityKeyFile).loadOrCreate()
        let store = try SQLiteStore(path: settings.storagePath, identity: identity.publicKey.compressed, logger: logger)
        let lock = try InstanceLock(path: settings.storagePath + ".lock")
        defer { withExtendedLifetime(lock) {} }
        let http = HTTPClient(configuration: .init())
        let clock = ContinuousClock()
        let wallClock = WallClock.system

        let bus = Bus()
        let transport: any MessageTransport =
            switch settings.transportKind {
            case .embedded:
                EmbeddedTransport(bus: bus, pubsubTopics: settings.pubsubTopics)
            case .waku:
                WakuTransport(
                    node: WakuNode(url: settings.wakuURL, client: http), configuration: settings.waku, checkpoints: store,
                    clock: clock, wallClock: wallClock, logger: logger)
            }
        let directory = try await TopicDirectory(serverKey: identity.publicKey, store: store)
        let delivery = settings.delivery.map { configuration in
            DeliveryLoop(
                store: store, configuration: configuration, clock: clock, wallClock: wallClock, logger: logger,
                onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
        }
        let engine = Engine(
            configuration: .init(
                identity: identity, registrationPolicy: settings.registrationPolicy, isDryRun: delivery == nil,
                workerCount: ProcessInfo.processInfo.activeProcessorCount, echoesReplies: settings.echoesReplies),
            store: store, directory: directory, transport: transport, clock: clock, wallClock: wallClock, logger: logger,
            onAcceptedPushes: { delivery?.wake() })

        if delivery == nil {
            logger.warning("DRY RUN: no gorush.url is set; pushes are accepted and discarded, none leaves this machine")
        }
        logger.notice(
            "starting",
            metadata: [
                "publicKey": "\(IdentityBody(identity.publicKey).publicKey)", "storage": "\(settings.storagePath)",
                "transport": "\(settings.transportKind.rawValue)", "pubsubTopics": "\(settings.pubsubTopics.joined(separator: ","))",
            ])

        let troubles: @Sendable () async -> [String] = { transport.troubles + engine.troubles + (delivery?.troubles ?? []) }
        let relayAddresses = settings.transportKind == .embedded ? settings.embeddedListen : []
        let readiness = Readiness(
            relayCount: relayAddresses.count, hasGateways: settings.gateways != nil, publicKey: IdentityBody(identity.publicKey).publicKey, readyFile: readyFile, clock: clock,
            logger: logger, troubles: troubles)
        let gauges = Gauges(store: store, engine: engine, waku: transport as? WakuTransport)
        let metricsText: @Sendable () async -> String = {
            await gauges.refresh()
            await delivery?.refreshMetrics()
            return registry.render()
        }
        let restoreDeadTokens: @Sendable ([Int64]?) async throws -> Int = { ids in
            let restored = try await store.restoreDeadRegistrations(ids, at: wallClock.now())
            directory.add(restored)
            return restored.count
        }
        var feedback: (@Sendable (GorushFailure) async -> Void)?
        if let delivery { feedback = { await delivery.feedback($0) } }
        let admin = AdminServer(
            address: settings.adminListen,
            content: AdminServer.Content(
                troubles: troubles, warnings: { delivery?.warnings ?? [] }, metrics: metricsText,
                identityJSON: IdentityBody(identity.publicKey).json, feedback: feedback,
                feedbackSecret: settings.feedbackSecret, restoreDeadTokens: restoreDeadTokens,
                token: try AdminToken(writingTo: settings.storagePath + ".admin-token")),
            logger: logger, onListening: { readiness.adminListens(on: $0) })
        let relays = relayAddresses.enumerated().map { index, address in
            RelayServer(
                configuration: .init(host: address.host, port: address.port, pubsubTopics: settings.pubsubTopics), bus: bus,
                clock: wallClock, logger: logger, onListening: { readiness.relayListens(index, on: $0) })
        }

        // Shut down in reverse: the engine stops receiving and drains while the relay still hands out its replies; then the delivery
        // finishes what it is posting; the admin endpoints go last.
        var services: [any Service] = [admin]
        if let delivery { services.append(delivery) }
        if let gateways = settings.gateways {
            let parts = GatewayParts(
                store: store, delivery: delivery, http: http, clock: clock, wallClock: wallClock,
                workerCount: ProcessInfo.processInfo.activeProcessorCount, logger: logger)
            services.append(gateways.server(parts, onListening: { readiness.gatewaysListen(on: $0) }))
        }
        services += relays
        services += [readiness, engine]
        var group = ServiceGroupConfiguration(
            services: services.map {
                .init(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = maximumShutdownDuration
        do {
            try await ServiceGroup(configuration: group).run()
        } catch {
            await store.close()
            http.shutdown()
            throw error
        }
        await store.close()
        http.shutdown()
        logger.notice("stopped")
    }
}

extension SQLiteStore: CheckpointKeeper {}
