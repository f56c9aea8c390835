package import MetricDeclarations
package import Store

/// The metrics about the store, set at each scrape from what the observer last read.
package struct StoreGauges: Sendable {
    private let registrations: PrometheusValue
    private let journal: [JournalState: PrometheusValue]
    private let outbox: [StoreFigures.OpenPush: PrometheusValue]
    private let oldestPushAge: PrometheusValue
    private let suspectedTokens: PrometheusValue
    private let ledger: [Milestone: PrometheusValue]
    private let imbalance: PrometheusValue
    private let sealed: PrometheusValue
    private let databaseSize: PrometheusValue
    private let walSize: PrometheusValue
    private let freeSpace: PrometheusValue
    private let clusterMembers: PrometheusValue
    private let age: PrometheusValue
    /// The values of each route.
    private let queued: [String: PrometheusValue]

    /// - Parameter routes: The routes' names.
    package init(registry: PrometheusRegistry, routes: [String] = []) {
        registrations = registry.value(of: Self.registrations)
        journal = registry.values(of: Self.journal, by: JournalState.self)
        outbox = Dictionary(
            uniqueKeysWithValues: registry.values(of: Self.outbox, by: OutboxState.self).map { ($0.openPush, $1) })
        oldestPushAge = registry.value(of: Self.oldestPushAge)
        suspectedTokens = registry.value(of: Self.suspectedTokens)
        ledger = registry.values(of: Self.ledger, by: Milestone.self)
        imbalance = registry.value(of: Self.imbalance)
        sealed = registry.value(of: Self.sealed)
        databaseSize = registry.value(of: Self.databaseSize)
        walSize = registry.value(of: Self.walSize)
        freeSpace = registry.value(of: Self.freeSpace)
        clusterMembers = registry.value(of: Self.clusterMembers)
        age = registry.value(of: Self.age)
        queued = Dictionary(uniqueKeysWithValues: routes.map { ($0, registry.value(of: Self.queued, $0)) })
    }

    /// Sets the metrics from a reading and its age.
    package func set(_ reading: StoreReading, age readingAge: Duration) {
        let figures = reading.figures
        age.set(readingAge / .seconds(1))
        registrations.set(Double(figures.registrationCount))
        journal[.undecided]?.set(Double(figures.ledger.undecidedCount))
        journal[.unpublished]?.set(Double(figures.unpublishedCount))
        for (state, value) in outbox { value.set(Double(figures.openPushes[state] ?? 0)) }
        oldestPushAge.set(reading.oldestPushAge.map { ($0 + readingAge) / .seconds(1) } ?? 0)
        suspectedTokens.set(Double(figures.suspectedTokenCount))
        for (milestone, value) in ledger { value.set(Double(figures.ledger.counts[milestone] ?? 0)) }
        imbalance.set(Double(Audit(ledgerOf: figures.ledger).imbalance))
        sealed.set(reading.sealing.fraction)
        clusterMembers.set(Double(reading.livingServerCount))
        if let size = figures.databaseByteCount { databaseSize.set(Double(size)) }
        for (route, value) in queued { value.set(Double(reading.queuedPushCounts[route] ?? 0)) }
    }

    /// Sets the metrics about the files. A metric keeps its value if a file cannot be read.
    package func set(_ files: StatusSnapshot.Files) {
        if let size = files.databaseBytes { databaseSize.set(Double(size)) }
        if let size = files.walBytes { walSize.set(Double(size)) }
        if let free = files.freeBytes { freeSpace.set(Double(free)) }
    }
}

private enum JournalState: String, MetricLabels {
    case undecided
    case unpublished

    static let labelNames = ["state"]
}

private enum OutboxState: String, MetricLabels {
    case firstAttempt = "first_attempt"
    case retryOrDeferred = "retry_or_deferred"

    static let labelNames = ["state"]

    var openPush: StoreFigures.OpenPush {
        switch self {
        case .firstAttempt: .firstAttempt
        case .retryOrDeferred: .retryOrDeferred
        }
    }
}

extension Milestone: MetricLabels {
    package static let labelNames = ["milestone"]
}

extension StoreGauges {
    package static let declarations = figures + [walSize, freeSpace, age]

    /// What a query over the database fills, and so what all of its servers show.
    private static let figures = [
        registrations, journal, outbox, oldestPushAge, queued, suspectedTokens, ledger, imbalance, sealed, databaseSize, clusterMembers,
    ]

    /// Declares a metric that a query over the database fills.
    private static func figure(
        _ kind: Metric.Kind, _ name: String, by labels: (any MetricLabels.Type)? = nil, configuredLabels: [String] = [],
        help: String
    ) -> Metric {
        Metric(kind, name, by: labels, configuredLabels: configuredLabels, scope: .database, help: help)
    }

    private static let registrations = figure(.gauge, "pushserver_registrations", help: "Live registrations.")
    private static let journal = figure(
        .gauge, "pushserver_journal_rows", by: JournalState.self,
        help: "Messages that wait for their decision, or whose reply is not marked as published.")
    private static let outbox = figure(
        .gauge, "pushserver_outbox_rows", by: OutboxState.self,
        help: "Open pushes that wait for their first attempt, or until a time.")
    private static let oldestPushAge = figure(
        .gauge, "pushserver_outbox_oldest_age_seconds", help: "Age of the oldest open push; 0 if no push is open.")
    private static let queued = figure(
        .gauge, "pushserver_route_pushes_queued", configuredLabels: ["route"], help: "Open pushes of the route.")
    private static let suspectedTokens = figure(
        .gauge, "pushserver_suspected_tokens", help: "Device tokens that were refused since their last delivery.")
    private static let ledger = figure(
        .counter, "pushserver_ledger_total", by: Milestone.self,
        help: "Events that the ledger has counted since the database was created.")
    private static let imbalance = figure(
        .gauge, "pushserver_ledger_imbalance", help: "Difference between the ledger and the rows, 0 without a defect.")
    private static let sealed = figure(
        .gauge, "pushserver_sealed_ratio", help: "Part of the secrets that the newest key seals: 1 when all are.")
    private static let databaseSize = figure(.gauge, "pushserver_database_bytes", help: "Size of the database.")
    private static let clusterMembers = figure(
        .gauge, "pushserver_cluster_members", help: "Living servers that share the database, this one included.")
    private static let age = Metric(
        .gauge, "pushserver_store_figures_age_seconds",
        help: "Time since the server read its metrics of the whole database, from the database.")
    private static let walSize = Metric(
        .gauge, "pushserver_database_wal_bytes", help: "Size of the write-ahead log of the database; only with SQLite.")
    private static let freeSpace = Metric(
        .gauge, "pushserver_storage_free_bytes", help: "Free space of the disk that has the database; only with SQLite.")
}
