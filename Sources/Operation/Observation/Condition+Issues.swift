package import Store

extension Condition {
    /// The reasons why a server is not ready, with a single reason for each cause.
    ///
    /// A database that is away also keeps the transport from recording messages and the routes from their outbox. Starting the node would
    /// not help then, so such reasons are left out.
    ///
    /// - Parameters:
    ///   - node: The transport's issues.
    ///   - store: The issues that the engine has with the store.
    ///   - cluster: The server's membership, or nil if it doesn't share its database.
    ///   - routes: The routes' issues.
    package static func issues(node: [String], store: [String], cluster: (any ClusterStore)?, routes: [Condition]) -> [Condition] {
        let lease = cluster.flatMap { $0.hasRecentLease ? nil : Self.leaseIssue }
        guard let issue = store.first ?? lease else { return node.map(Condition.node) + routes }
        // The transport repeats the store's errors, whose texts begin like this (`StoreError`).
        let own = node.filter { !$0.contains("the database ") && !$0.contains("another session") }
        let others = routes.filter { if case .store = $0 { false } else { true } }
        return own.map(Condition.node) + [.store(issue)] + others
    }

    private static let leaseIssue =
        "the lease of this server was not renewed for \(ClusterLimits.renewalDelay.components.seconds) s: the database is away or blocked"
}
