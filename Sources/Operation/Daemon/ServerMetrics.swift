import Delivery
import Engine
import HTTPGateways
package import MetricDeclarations
import Observation
import Store
import Transport

/// A server's metrics, as `GET /metrics` prints them and docs/METRICS.md lists them.
package enum ServerMetrics {
    /// The page docs/METRICS.md.
    package static var page: String { MetricsPage.text(of: declarations) }

    package static let declarations: [Metric] =
        EngineMetrics.declarations + StoreMetrics.declarations + WakuMetrics.declarations + RouteMetrics.declarations
        + OriginMetrics.declarations + Gauges.declarations + StoreGauges.declarations + Canary.declarations
        + AutomaticBackup.declarations + [LostTimes.count] + ProcessMetrics.declarations + BuildMetrics.declarations
}
