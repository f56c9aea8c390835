import Delivery
import Engine
import MetricDeclarations
import NextcloudOrigin
import SQLiteStore
import Transport

/// The metrics of a server, as `GET /metrics` prints them and docs/METRICS.md lists them.
enum ServerMetrics {
    static let declarations: [Metric] =
        EngineMetrics.declarations + StoreMetrics.declarations + WakuMetrics.declarations + RouteMetrics.declarations
        + OriginMetrics.declarations + Gauges.declarations + StoreGauges.declarations + Canary.declarations
        + AutomaticBackup.declarations + ResealingService.declarations + ProcessMetrics.declarations + BuildMetrics.declarations
}
