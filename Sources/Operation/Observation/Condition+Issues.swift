package import Store

extension Condition {
    /// The reasons why a server is not ready, with a single reason for each cause.
    ///
    /// While the database is away, routes cannot read their outbox. That follows, so it is listed only if nothing else says why.
    ///
    /// - Parameters:
    ///   - node: The transport's issues.
    ///   - store: The issues of the store, the most exact first.
    ///   - cluster: The server's membership, or nil if it doesn't share its database.
    ///   - routes: The routes' issues.
    package static func issues(
        node: [String], store: [String], cluster: (any ClusterStore)?, routes: [Condition]
    ) -> [Condition] {
        let (ofStore, others) = (routes.filter(\.isOfStore), routes.filter { !$0.isOfStore })
        let lease = cluster.flatMap { $0.hasRecentLease ? nil : Self.leaseIssue }
        return node.map(Condition.node) + ((store.first ?? lease).map { [.store($0)] } ?? ofStore) + others
    }

    private var isOfStore: Bool { if case .store = self { true } else { false } }

    private static let leaseIssue =
        "the lease of this server was not renewed for \(ClusterLimits.renewalDelay.components.seconds) s: the database is away or blocked"
}
