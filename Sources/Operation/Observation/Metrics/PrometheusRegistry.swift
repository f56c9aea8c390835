package import CoreMetrics
package import MetricDeclarations
import Synchronization

/// The process's declared metrics, in memory, written as Prometheus text (exposition format 0.0.4).
///
/// It is a swift-metrics backend: modules count through handles, and the admin endpoint prints the result. Counters and histograms exist
/// with 0 from the start in every combination of closed labels, because a rate would miss an event with which a series begins.
package final class PrometheusRegistry: MetricsFactory {
    private let families: [String: PrometheusFamily]

    /// - Parameter metrics: The metrics to print, each name once.
    package init(_ metrics: [Metric]) {
        families = Dictionary(metrics.map { ($0.name, PrometheusFamily($0)) }) { first, _ in first }
    }

    /// Returns the series of a counter or a gauge whose value is read elsewhere and set before ``render()``.
    ///
    /// - Parameter values: The values for the configured labels, and then for the closed labels.
    func value(of metric: Metric, _ values: String...) -> PrometheusValue {
        series(metric.name, Array(zip(metric.configuredLabels + metric.closedLabels, values))) {
            PrometheusValue(labels: $0, isCounter: metric.kind == .counter)
        }
    }

    /// Returns a metric's series for each combination of its closed labels. Their values are read elsewhere.
    func values<Labels: MetricLabels>(of metric: Metric, by labels: Labels.Type) -> [Labels: PrometheusValue] {
        Dictionary(
            uniqueKeysWithValues: Labels.allCases.map { labels in
                let dimensions = Array(zip(metric.closedLabels, labels.labelValues))
                return (labels, series(metric.name, dimensions) { PrometheusValue(labels: $0, isCounter: metric.kind == .counter) })
            })
    }

    /// Returns the counts of a histogram by bucket, over all its series.
    ///
    /// - Returns: The buckets' upper bounds, and their counts. The last count is for values above the highest bound.
    package func counts(of histogram: Metric) -> (bounds: [Double], counts: [Int]) {
        guard case .histogram(let bounds) = histogram.kind else { return ([], []) }
        let series = families[histogram.name]?.allSeries.compactMap { $0 as? PrometheusHistogram } ?? []
        let counts = series.reduce(into: Array(repeating: 0, count: bounds.count + 1)) { sum, series in
            for (index, count) in series.counts.enumerated() { sum[index] += count }
        }
        return (bounds, counts)
    }

    /// Returns all metrics as text, sorted by name and labels.
    package func render() -> String {
        var text = ""
        for (_, family) in families.sorted(by: { $0.key < $1.key }) { family.render(into: &text) }
        return text
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions) { PrometheusValue(labels: $0, isCounter: true) }
    }

    package func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(label, dimensions) { PrometheusValue(labels: $0, isCounter: true) }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions) { PrometheusValue(labels: $0, isCounter: false) }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        histogram(label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { histogram(label, dimensions) }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    private func histogram(_ name: String, _ dimensions: [(String, String)]) -> PrometheusHistogram {
        series(name, dimensions) { PrometheusHistogram(labels: $0, bounds: []) }
    }

    /// Returns the declared series of that name and labels.
    ///
    /// - Parameter makeUnprinted: Makes the series for a name, a kind or labels without declaration. A mistake in our code must not stop a
    ///   server, so only a debug build stops.
    private func series<Series: PrometheusSeries>(
        _ name: String, _ dimensions: [(String, String)], makeUnprinted: (PrometheusLabels) -> Series
    ) -> Series {
        let labels = PrometheusLabels(dimensions)
        if let series = families[name]?.series(labels, for: dimensions) as? Series { return series }
        assertionFailure("the metric \(name)\(labels.text) is not declared")
        return makeUnprinted(labels)
    }
}

/// A declared metric and its series.
final class PrometheusFamily: Sendable {
    private let metric: Metric
    /// The series by their rendered labels, like `{outcome="sent"}`.
    private let series: Mutex<[String: any PrometheusSeries]>

    init(_ metric: Metric) {
        self.metric = metric
        let combinations = metric.configuredLabels.isEmpty ? metric.combinations : []
        let labels = combinations.map { PrometheusLabels(Array(zip(metric.closedLabels, $0))) }
        series = Mutex(Dictionary(labels.map { ($0.text, Self.makeSeries(metric, $0)) }) { first, _ in first })
    }

    /// Returns the series with these labels, and creates it if they have configured values.
    ///
    /// - Returns: nil if the labels are not declared.
    func series(_ labels: PrometheusLabels, for dimensions: [(String, String)]) -> (any PrometheusSeries)? {
        let names = metric.configuredLabels + metric.closedLabels
        guard dimensions.map(\.0) == names,
            metric.combinations.contains(dimensions.dropFirst(metric.configuredLabels.count).map(\.1))
        else { return nil }
        return series.withLock { series in
            if let known = series[labels.text] { return known }
            let new = Self.makeSeries(metric, labels)
            series[labels.text] = new
            return new
        }
    }

    private static func makeSeries(_ metric: Metric, _ labels: PrometheusLabels) -> any PrometheusSeries {
        switch metric.kind {
        case .counter: PrometheusValue(labels: labels, isCounter: true)
        case .gauge: PrometheusValue(labels: labels, isCounter: false)
        case .histogram(let bounds): PrometheusHistogram(labels: labels, bounds: bounds)
        }
    }

    var allSeries: [any PrometheusSeries] { series.withLock { Array($0.values) } }

    func render(into text: inout String) {
        text += "# HELP \(metric.name) \(metric.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))\n"
        text += "# TYPE \(metric.name) \(metric.kind.name)\n"
        let series = series.withLock { $0 }
        for (_, series) in series.sorted(by: { $0.key < $1.key }) { series.render(name: metric.name, into: &text) }
    }
}

extension Metric.Kind {
    /// The kind's name in Prometheus.
    var name: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}
