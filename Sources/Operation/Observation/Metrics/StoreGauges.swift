package import Envelope
package import MetricDeclarations
package import ServerFiles
package import Store

/// The metrics that the server reads from the store and its files at each scrape.
package struct StoreGauges: Sendable {
    private let store: any PushStore
    private let storage: DatabaseLocation
    private let registrations: PrometheusValue
    private let journal: [JournalState: PrometheusValue]
    private let outbox: [StoreFigures.OpenPush: PrometheusValue]
    private let oldestPushAge: PrometheusValue
    private let suspectedTokens: PrometheusValue
    private let ledger: [Milestone: PrometheusValue]
    private let imbalance: PrometheusValue
    private let databaseSize: PrometheusValue
    private let walSize: PrometheusValue
    private let freeSpace: PrometheusValue
    private let clusterMembers: PrometheusValue

    package init(store: any PushStore, storage: DatabaseLocation, registry: PrometheusRegistry) {
        self.store = store
        self.storage = storage
        registrations = registry.value(of: Self.registrations)
        journal = registry.values(of: Self.journal, by: JournalState.self)
        outbox = Dictionary(
            uniqueKeysWithValues: registry.values(of: Self.outbox, by: OutboxState.self).map { ($0.openPush, $1) })
        oldestPushAge = registry.value(of: Self.oldestPushAge)
        suspectedTokens = registry.value(of: Self.suspectedTokens)
        ledger = registry.values(of: Self.ledger, by: Milestone.self)
        imbalance = registry.value(of: Self.imbalance)
        databaseSize = registry.value(of: Self.databaseSize)
        walSize = registry.value(of: Self.walSize)
        freeSpace = registry.value(of: Self.freeSpace)
        clusterMembers = registry.value(of: Self.clusterMembers)
    }

    /// Reads the values and sets the metrics. A metric keeps its value if the store or a file cannot be read.
    package func refresh(at now: Timestamp) async {
        if let figures = try? await store.figures() {
            set(figures, at: now)
            if let size = figures.databaseByteCount { databaseSize.set(Double(size)) }
        }
        let files = StatusSnapshot.Files(storage)
        if let size = files.databaseBytes { databaseSize.set(Double(size)) }
        if let size = files.walBytes { walSize.set(Double(size)) }
        if let free = files.freeBytes { freeSpace.set(Double(free)) }
        clusterMembers.set(Double(store.cluster?.memberCount ?? 1))
    }

    private func set(_ figures: StoreFigures, at now: Timestamp) {
        registrations.set(Double(figures.registrationCount))
        journal[.undecided]?.set(Double(figures.ledger.undecidedCount))
        journal[.unpublished]?.set(Double(figures.unpublishedCount))
        for (state, value) in outbox { value.set(Double(figures.openPushes[state] ?? 0)) }
        oldestPushAge.set(figures.oldestOpenPush.map { max(.zero, $0.duration(to: now)) / .seconds(1) } ?? 0)
        suspectedTokens.set(Double(figures.suspectedTokenCount))
        for (milestone, value) in ledger { value.set(Double(figures.ledger.counts[milestone] ?? 0)) }
        imbalance.set(Double(Audit(ledgerOf: figures.ledger).imbalance))
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
    case inFlight = "in_flight"

    static let labelNames = ["state"]

    var openPush: StoreFigures.OpenPush {
        switch self {
        case .firstAttempt: .firstAttempt
        case .retryOrDeferred: .retryOrDeferred
        case .inFlight: .inFlight
        }
    }
}

extension Milestone: MetricLabels {
    package static let labelNames = ["milestone"]
}

extension StoreGauges {
    package static let declarations = [
        registrations, journal, outbox, oldestPushAge, suspectedTokens, ledger, imbalance, databaseSize, walSize, freeSpace,
        clusterMembers,
    ]

    private static let registrations = Metric(.gauge, "pushserver_registrations", scope: .database, help: "Live registrations.")
    private static let journal = Metric(
        .gauge, "pushserver_journal_rows", by: JournalState.self, scope: .database,
        help: "Messages that wait for their decision, or whose reply is not marked as published.")
    private static let outbox = Metric(
        .gauge, "pushserver_outbox_rows", by: OutboxState.self, scope: .database,
        help: "Open pushes that wait for their first attempt, wait until a time, or are in flight.")
    private static let oldestPushAge = Metric(
        .gauge, "pushserver_outbox_oldest_age_seconds", scope: .database,
        help: "Age of the oldest open push; 0 if no push is open.")
    private static let suspectedTokens = Metric(
        .gauge, "pushserver_suspected_tokens", scope: .database,
        help: "Device tokens that were refused since their last delivery.")
    private static let ledger = Metric(
        .counter, "pushserver_ledger_total", by: Milestone.self, scope: .database,
        help: "Events that the ledger has counted since the database was created.")
    private static let imbalance = Metric(
        .gauge, "pushserver_ledger_imbalance", scope: .database,
        help: "Difference between the ledger and the rows, 0 without a defect.")
    private static let databaseSize = Metric(
        .gauge, "pushserver_database_bytes", scope: .database, help: "Size of the database.")
    private static let walSize = Metric(.gauge, "pushserver_database_wal_bytes", help: "Size of the write-ahead log of the database.")
    private static let freeSpace = Metric(
        .gauge, "pushserver_storage_free_bytes", help: "Free space of the disk that has the database.")
    private static let clusterMembers = Metric(
        .gauge, "pushserver_cluster_members", scope: .database,
        help: "Living servers that share the database, this one included.")
}
