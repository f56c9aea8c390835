import CoreMetrics
package import MetricDeclarations

/// The Nextcloud origin's metrics.
package struct OriginMetrics: Sendable {
    enum PushOutcome: String, MetricLabels {
        /// The push proxy accepted the push.
        case accepted
        /// The push proxy rejected the push.
        case rejected
        case expired
        /// The payload is too long for the device's key.
        case tooLong = "too_long"

        static let labelNames = ["outcome"]
    }

    private let pushes = Self.pushes.counters(by: PushOutcome.self)

    init() {}

    func count(_ outcome: PushOutcome, _ count: Int) { pushes[outcome]?.increment(by: count) }

    package static let declarations = [pushes]

    private static let pushes = Metric(
        .counter, "pushserver_origin_pushes_total", by: PushOutcome.self, help: "Pushes of the Nextcloud origin, by outcome.")
}
