import CoreMetrics
import Delivery
import Engine
package import Envelope
import Foundation
import HTTPClient
package import Logging
import Relay
import ServiceLifecycle
import StatusCrypto
import Store
import Transport
import UnixSignals

/// The daemon: builds every part from the settings and runs them as one group of services.
package enum Server {
    /// Runs until SIGTERM or SIGINT, then drains. To be called once in a process: it binds the metrics.
    ///
    /// - Throws: `IdentityFileError` and `StoreError` before anything started; whatever a service failed with later.
    package static func run(_ settings: Settings, readyFile: String?, logger: Logger) async throws {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)

        let identity = try IdentityFile.loadOrCreate(settings.identityKeyFile)
        let store = try PushStore(path: settings.storagePath, identity: identity.publicKey.compressed, logger: logger)
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
                    node: WakuNode(url: settings.wakuURL, client: http),
                    configuration: .init(pubsubTopics: settings.pubsubTopics, pollInterval: settings.wakuPollInterval),
                    checkpoints: store, clock: clock, wallClock: wallClock, logger: logger)
            }
        let delivery = settings.gorushURL.map { url in
            DeliveryLoop(
                store: store,
                gorush: GorushClient(
                    http: http,
                    configuration: .init(
                        url: url, timeout: settings.gorushTimeout,
                        maximumNotificationCount: settings.gorushMaximumNotificationCount)),
                configuration: .init(
                    dataFormat: settings.gorushDataFormat, texts: settings.pushTexts, retryInterval: settings.gorushRetryInterval),
                clock: clock, wallClock: wallClock, logger: logger)
        }
        let engine = try await Engine(
            configuration: .init(
                identity: identity, registrationPolicy: settings.registrationPolicy, isDryRun: delivery == nil,
                workerCount: ProcessInfo.processInfo.activeProcessorCount),
            store: store, transport: transport, clock: clock, wallClock: wallClock, logger: logger,
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
            relayCount: relayAddresses.count, publicKey: IdentityBody(identity.publicKey).publicKey, readyFile: readyFile, clock: clock,
            logger: logger, troubles: troubles)
        let gauges = Gauges(store: store, engine: engine)
        let admin = AdminServer(
            address: settings.adminListen,
            content: .init(
                troubles: troubles,
                metrics: {
                    await gauges.refresh()
                    return registry.render()
                },
                identityJSON: IdentityBody(identity.publicKey).json),
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
        services += relays
        services += [readiness, engine]
        let group = ServiceGroup(
            configuration: .init(
                services: services.map {
                    .init(
                        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do {
            try await group.run()
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

extension PushStore: CheckpointKeeper {}

extension WallClock {
    /// The system's, as set by NTP.
    package static let system = WallClock {
        var time = timespec()
        // Fails for an unknown clock only.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
