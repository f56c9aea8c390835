import Delivery
import Engine
import NextcloudOrigin
import Observation
import Store
import Transport

/// The conditions of a running server, asked of its parts.
struct ServerConditions: Sendable {
    let time: GuardedWallClock
    let transport: any MessageTransport
    let engine: Engine
    let delivery: DeliveryLoop?
    let proxyDelivery: ProxyDelivery?
    let damagedRows: DamagedRowConditions
    let wal: WALConditions
    let cluster: (any ClusterStore)?
    /// Nil for a server with a database of its own.
    let statementLog: StatementLogWatch?
    let canary: Canary?
    let backup: AutomaticBackup?

    /// The reasons why the server is not ready; empty if it is.
    var issues: [Condition] {
        Condition.issues(
            node: transport.healthIssues, store: engine.healthIssues, cluster: cluster,
            routes: Condition.issues(of: delivery?.reports ?? []))
            + damagedRows.issues
    }

    var warnings: [Condition] {
        time.warnings.map(Condition.clock) + transport.warnings.map(Condition.network) + engine.warnings.map(Condition.overload)
            + (engine.lockWarning.map { [Condition.store($0)] } ?? []) + wal.warnings + (statementLog?.warnings ?? [])
            + (engine.versionWarning.map { [Condition.clients($0)] } ?? [])
            + (delivery?.warnings.map(Condition.route) ?? [.dryRun]) + (proxyDelivery?.warnings ?? []).map(Condition.pushProxy)
            + damagedRows.warnings + (canary?.warnings ?? []).map(Condition.canary) + (backup?.warnings ?? []).map(Condition.backup)
    }
}
