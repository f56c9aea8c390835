import Engine
import Logging
import Observation
import ServiceLifecycle
import Settings
import StatusCrypto
import Store
import Transport

/// A server's parts and how they are connected.
struct Composition {
    /// The services with their names for the log, in the order in which they start.
    ///
    /// The services stop in reverse order. The engine stops receiving and drains while the relays still serve its replies. The gateways
    /// stop before the delivery, because they wait for its results. The delivery finishes its attempts before the relays stop, so a relay's
    /// clients don't delay it. The admin endpoints stop late, and the writer watch last, because a writer that hangs delays only its watch.
    let services: [ProcessLifetime.NamedService]

    init(_ base: Foundations) async throws {
        let bus = Bus()
        let directory = try await TopicDirectory(serverKey: base.identity.publicKey, store: base.store)
        let transport = base.transport(bus)
        let delivery = base.delivery(directory)
        let proxyDelivery = base.proxyDelivery()
        let canaryNode = CanaryNode(transport: transport)
        let canary = try base.canary(canaryNode)
        let backup = base.backup()
        let engine = try base.engine(
            directory, canary == nil ? transport : CanaryTransport(transport: transport, canary: canaryNode), delivery)
        let statementLog = base.store.cluster.map { StatementLogWatch(cluster: $0, clock: base.clock, logger: base.logger) }
        let parts = ServerParts(
            directory: directory, transport: transport, engine: engine, delivery: delivery, proxyDelivery: proxyDelivery, canary: canary,
            backup: backup, observer: try await base.observer())
        let conditions = ServerConditions(
            parts: parts, store: base.store, time: base.time, keyFiles: KeyFileWatch(base.settings.files),
            damagedRows: DamagedRowConditions(store: base.store, time: base.sinceStart),
            wal: WALConditions(storage: base.settings.storage, time: base.sinceStart), cluster: base.store.cluster,
            lostTimes: base.lostTimes, statementLog: statementLog)
        let readiness = base.readiness(conditions)
        let status = base.status(parts, readiness)
        let named: [(name: String, service: (any Service)?)] =
            [
                ("writer watch", base.writerWatch(engine)),
                ("clock", base.time),
                ("cluster membership", base.membership(parts)),
                ("store observer", parts.observer),
                ("status", status),
                ("admin", base.admin(parts, conditions, readiness, status)),
            ]
            + base.relays(bus, readiness).map { ("relay", $0) } + [
                ("delivery", delivery),
                ("delivery to push proxies", proxyDelivery),
                ("gateways", base.gateways(parts, readiness)),
                ("engine", engine),
                ("canary", canary),
                ("automatic backup", backup),
                ("re-sealing", ResealingService(store: base.store, clock: base.clock, logger: base.logger)),
                ("watch of the statement log", statementLog),
                ("readiness", readiness),
            ]
        services = named.compactMap { part in part.service.map { (part.name, $0) } }
        base.logger.notice("identity", metadata: ["publicKey": "\(base.identityBody.publicKey)"])
    }
}
