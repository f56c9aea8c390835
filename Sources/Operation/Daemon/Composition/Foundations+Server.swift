import Delivery
import Engine
import HTTPGateways
import Logging
import PushProtocol
import ServerFiles
import Settings
import StatusCrypto
import Store
import Transport

extension Foundations {
    /// Creates the delivery, or nil for a dry run.
    func delivery(_ directory: TopicDirectory) -> DeliveryLoop? {
        guard var configuration = settings.delivery else {
            logger.warning("dry run: gorush.url is not set; accepted pushes are discarded")
            return nil
        }
        configuration.drainLimit = limits.gracePeriod
        return DeliveryLoop(
            store: store, configuration: configuration, clock: clock, wallClock: wallClock, logger: logger,
            memberNumber: { [store] in store.cluster?.number ?? 0 },
            memberCount: { [store] in store.cluster?.memberCount ?? 1 },
            mayPost: { [store] in store.cluster?.holdsLease(as: $0, for: ClusterLimits.postingTime) ?? true },
            onUnregistered: { [store] in await directory.remove($0, unlessLiveIn: store) })
    }

    func engine(
        _ directory: TopicDirectory, _ transport: any MessageTransport, _ delivery: DeliveryLoop?
    ) throws -> Engine {
        var configuration = Engine.Configuration(
            identity: identity, registrationPolicy: settings.registrationPolicy, isDryRun: delivery == nil, workerCount: workerCount,
            echoesReplies: settings.echoesReplies, drainLimit: limits.engine, transportLimit: limits.transport)
        configuration.canaryKeyHash = try Canary.keyHash(for: identity)
        return Engine(
            configuration: configuration, store: store, directory: directory, transport: transport, clock: clock, wallClock: wallClock,
            logger: logger, confirmsDelivery: { delivery?.confirmsDelivery ?? false }, onAcceptedPushes: { delivery?.wake() })
    }

    /// Creates the canary, or nil if none is configured.
    func canary(_ node: CanaryNode) throws -> Canary? {
        try settings.canary.map { configuration in
            try Canary(
                configuration, identity: identity, serverName: settings.serverName, node: node, pubsubTopic: settings.pubsubTopics[0],
                clock: clock, wallClock: wallClock, logger: logger,
                storedVersion: { [store] installation in
                    try await store.registrationSummaries(of: installation.keyHash)
                        .first { $0.installationID == installation.installationID }?.version
                })
        }
    }

    /// Creates the automatic backups, or nil if none are configured.
    func backup() -> AutomaticBackup? {
        settings.backup.map { configuration in
            AutomaticBackup(
                configuration, database: settings.storagePath, identity: identity.publicKey.compressed, clock: clock,
                wallClock: wallClock, logger: logger)
        }
    }

    /// Creates the watch of the writer. The writer of a database on another machine is not this process's.
    func writerWatch(_ engine: Engine) -> WriterWatch {
        WriterWatch(serviceManager: serviceManager, clock: clock, write: store.cluster == nil ? engine.probeStore : nil)
    }

    /// Creates the membership among several servers, or nil if this server doesn't share its database.
    func membership(_ parts: ServerParts) -> ClusterMembership? {
        store.cluster.map {
            ClusterMembership(
                cluster: $0, isReceiving: { parts.transport.healthIssues.isEmpty }, clock: clock, logger: logger,
                countFailure: parts.engine.countStoreFailure, abandon: { ProcessLifetime.abandon($0, logger: logger) }
            ) { work in
                parts.engine.resume(work)
                parts.proxyDelivery?.wake(work.waitingProxies)
            }
        }
    }
}
