import Delivery
import Engine
import HTTPGateways
import Observation
import Store
import Transport

/// The conditions that a running server's parts report.
struct ServerConditions: Sendable {
    let parts: ServerParts
    let store: any PushStore
    let time: ClockKeeper
    let keyFiles: KeyFileWatch
    let damagedRows: DamagedRowConditions
    let wal: WALConditions
    let cluster: (any ClusterStore)?
    let lostTimes: LostTimes
    /// Nil if this server doesn't share its database.
    let statementLog: StatementLogWatch?

    /// The reasons why the server is not ready, or empty if it is.
    var issues: [Condition] {
        let issues = Condition.issues(
            node: parts.transport.healthIssues, store: fileIssues + parts.engine.healthIssues, cluster: cluster,
            routes: Condition.issues(of: parts.delivery?.reports ?? []))
        return (issues + damagedRows.issues + time.issues(against: cluster?.databaseTime).map(Condition.clock)).folded
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
        let warnings: [[Condition]] = [
            time.warnings.map(Condition.clock), keyFiles.warnings,
            parts.transport.warnings.map(Condition.network),
            [
                parts.engine.lateWarning.map(Condition.network), parts.engine.overloadWarning.map(Condition.overload),
                parts.engine.lockWarning.map(Condition.store),
            ].compactMap(\.self),
            lostTimes.warnings.map(Condition.store), wal.warnings, statementLog?.warnings ?? [],
            [parts.engine.versionWarning.map(Condition.clients)].compactMap(\.self),
            parts.delivery?.warnings.map(Condition.route) ?? [.dryRun],
            (parts.delivery?.holds ?? []).map(Condition.hold),
            [parts.proxyDelivery?.warning.map(Condition.pushProxy)].compactMap(\.self),
            damagedRows.warnings, (issues.isEmpty ? parts.canary?.warnings ?? [] : []).map(Condition.canary),
            (parts.backup?.warnings ?? []).map(Condition.backup),
        ]
        return warnings.flatMap(\.self).folded
    }
}
