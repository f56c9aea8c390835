import Delivery
import Engine
import NextcloudOrigin
import Observation
import Transport

/// The conditions of a running server, asked of its parts.
struct ServerConditions: Sendable {
    let time: GuardedWallClock
    let transport: any MessageTransport
    let engine: Engine
    let delivery: DeliveryLoop?
    let proxyDelivery: ProxyDelivery?
    let damagedRows: DamagedRowConditions
    let canary: Canary?
    let backup: AutomaticBackup?

    /// The reasons why the server is not ready; empty if it is.
    var issues: [Condition] {
        transport.healthIssues.map(Condition.node) + engine.healthIssues.map(Condition.store) + damagedRows.issues
            + Condition.issues(of: delivery?.reports ?? [])
    }

    var warnings: [Condition] {
        time.warnings.map(Condition.clock) + transport.warnings.map(Condition.network) + engine.warnings.map(Condition.overload)
            + (engine.versionWarning.map { [Condition.clients($0)] } ?? [])
            + (delivery?.warnings.map(Condition.route) ?? [.dryRun]) + (proxyDelivery?.warnings ?? []).map(Condition.pushProxy)
            + damagedRows.warnings + (canary?.warnings ?? []).map(Condition.canary) + (backup?.warnings ?? []).map(Condition.backup)
    }
}
