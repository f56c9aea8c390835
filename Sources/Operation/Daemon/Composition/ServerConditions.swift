import Delivery
import Engine
import NextcloudOrigin
import Observation
import Store
import Transport

/// The conditions that a running server's parts report.
struct ServerConditions: Sendable {
    let store: any PushStore
    let time: ClockKeeper
    let keyFiles: KeyFileWatch
    let transport: any MessageTransport
    let engine: Engine
    let delivery: DeliveryLoop?
    let proxyDelivery: ProxyDelivery?
    let damagedRows: DamagedRowConditions
    let wal: WALConditions
    let cluster: (any ClusterStore)?
    /// Nil if this server doesn't share its database.
    let statementLog: StatementLogWatch?
    let canary: Canary?
    let backup: AutomaticBackup?

    /// The reasons why the server is not ready, or empty if it is.
    var issues: [Condition] {
        Condition.issues(
            node: transport.healthIssues, store: fileIssues + engine.healthIssues, cluster: cluster,
            routes: Condition.issues(of: delivery?.reports ?? []))
            + damagedRows.issues + time.issues(against: cluster?.databaseTime).map(Condition.clock)
    }

    /// The reason why the server is not ready if its database's file was moved or replaced.
    private var fileIssues: [String] {
        do throws(StoreError) {
            try store.checkFile()
            return []
        } catch {
            return ["\(error)"]
        }
    }

    /// The conditions that leave the server ready. The canary's failures follow from whatever keeps it from being ready.
    var warnings: [Condition] {
        time.warnings.map(Condition.clock) + keyFiles.warnings + transport.warnings.map(Condition.network)
            + engine.warnings.map(Condition.overload)
            + (engine.lockWarning.map { [Condition.store($0)] } ?? []) + wal.warnings + (statementLog?.warnings ?? [])
            + (engine.versionWarning.map { [Condition.clients($0)] } ?? [])
            + (delivery?.warnings.map(Condition.route) ?? [.dryRun]) + (proxyDelivery?.warnings ?? []).map(Condition.pushProxy)
            + damagedRows.warnings + (issues.isEmpty ? canary?.warnings ?? [] : []).map(Condition.canary)
            + (backup?.warnings ?? []).map(Condition.backup)
    }
}
