package import CoreMetrics
import Synchronization

/// The metrics of the process, in memory, written as Prometheus text (exposition format 0.0.4).
///
/// It is a swift-metrics backend: libraries count through `Metrics`, and the admin endpoint prints the result. Fixed code creates each
/// series once, and label values never come from a peer, so the number of series is bounded.
package final class PrometheusRegistry: MetricsFactory {
    private enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private struct Family {
        var kind: Kind
        /// The series by their rendered labels, like `{outcome="sent"}`.
        var series: [String: any PrometheusSeries] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    package init() {}

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions) { PrometheusValue(labels: $0) }
    }

    package func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(.counter, label, dimensions) { PrometheusValue(labels: $0) }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(.gauge, label, dimensions) { PrometheusValue(labels: $0) }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return series(.gauge, label, dimensions) { PrometheusValue(labels: $0) } }
        return series(.histogram, label, dimensions) { PrometheusHistogram(labels: $0) }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.histogram, label, dimensions) { PrometheusHistogram(labels: $0) }
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// Returns the series of that name and labels, and creates it if it does not exist. A name that has another kind gives a series that
    /// is never printed, because a mistake in our code must not stop a server.
    private func series<Series: PrometheusSeries>(
        _ kind: Kind, _ label: String, _ dimensions: [(String, String)], make: (String) -> Series
    ) -> Series {
        let name = Self.metricName(label)
        let labels = Self.render(dimensions)
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            if let series = family.series[labels] as? Series, family.kind == kind { return series }
            let series = make(labels)
            guard family.kind == kind else { return series }
            family.series[labels] = series
            families[name] = family
            return series
        }
    }

    // MARK: Text

    /// Returns all metrics as text, sorted by name and labels.
    package func render() -> String {
        let families = self.families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (_, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.render(name: name, into: &text)
            }
        }
        return text
    }

    private static func metricName(_ label: String) -> String {
        String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" })
    }

    private static func render(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        let labels = dimensions.sorted { $0.0 < $1.0 }.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(metricName(name))=\"\(escaped)\""
        }
        return "{" + labels.joined(separator: ",") + "}"
    }
}

/// A line of a family, or the lines of a histogram.
protocol PrometheusSeries: AnyObject, Sendable {
    func render(name: String, into text: inout String)
}
