package import MetricDeclarations

/// The page `docs/METRICS.md`, made from the declarations.
package enum MetricsPage {
    package static func text(of metrics: [Metric]) -> String {
        """
        # Metrics

        The metrics of `GET /metrics`, in Prometheus' text format. `pushserver metrics-page` prints this page for your version.

        - The server prints HELP and TYPE of every metric. Counters and histograms exist with 0 from the start in every combination of the
          listed labels. A gauge appears with its first value, and keeps the last one while the server cannot read a new one.
        - No scrape waits for the database. The server reads it each second, or less often if that takes long, and
          `pushserver_store_figures_age_seconds` is the age of the last reading: of all metrics with the scope `database`.
        - Values of labels are closed sets, except names from the settings: `route` is `ios`, `android` or a name below `gorush.routes`,
          `node` is the address of a Waku node. Labels never contain a topic, a client's key or an installation.
        - Of several servers on one database, each exposes the metrics with the scope `database`, so take their maximum, as the alerts \
        and the
          board do; their help ends with `(whole database)`. Values with the scope `server` may be added up, except
          `pushserver_topic_directory_entries`: each server learns the topics of others' registrations only when it needs them.
        - `pushserver_not_ready` has a value for each cause. Alerts about what follows from a cause name it, and are silent while it is 1.
        - With PostgreSQL there is no `pushserver_database_wal_bytes` and no `pushserver_storage_free_bytes`, because its disk is its \
        server's.
        - A dry run has no metrics with the label `route`, the embedded transport none about nodes, and a server without `canary.interval`
          no age or interval of a canary.
        - `pushserver_ledger_total` is read from the database, so it does not start again with the process. The ledger balances:
          `received = duplicate + invalid + ignored + processed` + `pushserver_journal_rows{state="undecided"}`, and
          `accepted = merged + coalesced + sent + expired + dead_token + refused + discarded + withdrawn` + all `pushserver_outbox_rows`.
        - Of these milestones, `ignored` messages were too old or not for this server. `filtered` pushes are not among the accepted: the
          phone's owner has muted or blocked them. `merged` means that the same message's push to the phone was in the outbox already, \
        or
          went to a newer installation on it, `coalesced` that it joined a waiting push because the phone got more than 30. So `accepted`
          may be far above `sent` without a fault.

        | metric | type | scope | labels | meaning |
        |---|---|---|---|---|

        """ + metrics.sorted { $0.name < $1.name }.map(row).joined(separator: "\n")
    }

    private static func row(_ metric: Metric) -> String {
        "| `\(metric.name)` | \(metric.kind.name) | \(metric.scope) | \(labels(of: metric)) | \(metric.meaning)\(buckets(of: metric)) |"
    }

    private static func labels(of metric: Metric) -> String {
        let names = (metric.configuredLabels + metric.closedLabels).map { "`\($0)`" }.joined(separator: ", ")
        guard !metric.closedLabels.isEmpty else { return names }
        return names + ": " + values(of: metric.combinations)
    }

    /// Returns values like "sent, expired", or like "query: answered, unknown. Other: invalid" for two labels.
    private static func values(of combinations: [[String]]) -> String {
        guard combinations.contains(where: { $0.count > 1 }) else { return combinations.joined().joined(separator: ", ") }
        var groups: [(value: String, rest: [[String]])] = []
        for combination in combinations {
            guard let value = combination.first else { continue }
            if groups.last?.value != value { groups.append((value, [])) }
            groups[groups.count - 1].rest.append(Array(combination.dropFirst()))
        }
        return groups.map { "\($0.value): \(values(of: $0.rest))" }.joined(separator: "; ")
    }

    private static func buckets(of metric: Metric) -> String {
        guard case .histogram(let bounds) = metric.kind else { return "" }
        return " Buckets: \(bounds.map(\.prometheusText).joined(separator: ", "))."
    }
}
