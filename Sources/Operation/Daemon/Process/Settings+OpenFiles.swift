import Delivery
import Settings

extension Settings {
    /// The relays that the server serves. Empty with a Waku node.
    var relayAddresses: [ListenAddress] { transportKind == .embedded ? embeddedListen : [] }

    /// The limit of open files under which a server started here would run, as a YAML comment.
    package var openFileSummary: String {
        let limit = OpenFileLimit.raise()
        let budget = connectionBudget(openFileLimit: limit)
        var connections = ["admin \(budget.admin)"]
        if !relayAddresses.isEmpty { connections.append("each relay \(budget.relay)") }
        if gateways != nil { connections.append("gateways \(budget.gateways)") }
        return "# open files: at most \(limit); connections: \(connections.joined(separator: ", "))"
    }

    func connectionBudget(openFileLimit: Int) -> ConnectionBudget {
        return ConnectionBudget(
            openFileLimit: openFileLimit, deliveryConnectionCount: delivery.map { $0.allRoutes.count * $0.connectionCount } ?? 0,
            relayCount: relayAddresses.count, hasGateways: gateways != nil)
    }
}
