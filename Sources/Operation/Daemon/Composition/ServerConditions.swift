import Delivery
import Engine
import HTTPGateways
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
        let parts = Condition.issues(
            node: transport.healthIssues, store: fileIssues + engine.healthIssues, cluster: cluster,
            routes: Condition.issues(of: delivery?.reports ?? []))
        return (parts + damagedRows.issues + time.issues(against: cluster?.databaseTime).map(Condition.clock)).folded
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
        let parts: [[Condition]] = [
            time.warnings.map(Condition.clock), keyFiles.warnings,
            transport.warnings.map(Condition.network),
            [
                engine.lateWarning.map(Condition.network), engine.overloadWarning.map(Condition.overload),
                engine.lockWarning.map(Condition.store),
            ].compactMap(\.self),
            wal.warnings, statementLog?.warnings ?? [], [engine.versionWarning.map(Condition.clients)].compactMap(\.self),
            delivery?.warnings.map(Condition.route) ?? [.dryRun], [proxyDelivery?.warning.map(Condition.pushProxy)].compactMap(\.self),
            damagedRows.warnings, (issues.isEmpty ? canary?.warnings ?? [] : []).map(Condition.canary),
            (backup?.warnings ?? []).map(Condition.backup),
        ]
        return parts.flatMap(\.self).folded
    }
}
