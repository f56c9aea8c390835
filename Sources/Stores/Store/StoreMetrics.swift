import CoreMetrics
package import MetricDeclarations

/// The metrics of write transactions.
package struct StoreMetrics: Sendable {
    private let seconds = Self.seconds.timer()
    private let rows = Self.rows.recorder()

    package init() {}

    package func committed(rowCount: Int, after duration: Duration) {
        seconds.record(duration)
        rows.record(rowCount)
    }

    package static let declarations = [seconds, rows]

    private static let seconds = Metric(
        .histogram(bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]), "pushserver_commit_seconds",
        help: "Duration of a transaction with its fsync, without the wait for earlier ones.")
    private static let rows = Metric(
        .histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]), "pushserver_commit_rows",
        help: "Rows that a transaction changed.")
}
