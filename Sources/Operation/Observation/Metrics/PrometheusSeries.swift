import CoreMetrics
import Synchronization

/// A family's line, or a histogram's lines.
protocol PrometheusSeries: AnyObject, Sendable {
    func render(name: String, into text: inout String)
}

/// A series' labels as Prometheus text.
struct PrometheusLabels: Sendable {
    /// The labels in braces, or empty if there are none.
    let text: String

    init(_ labels: [(name: String, value: String)]) {
        let pairs = labels.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(escaped)\""
        }
        text = pairs.isEmpty ? "" : "{" + pairs.joined(separator: ",") + "}"
    }

    /// The labels for a bucket.
    func text(bound: String) -> String { (text.isEmpty ? "{" : text.dropLast() + ",") + "le=\"\(bound)\"}" }
}

/// A counter or a gauge. The value is a Double, as in Prometheus: whole numbers are exact up to 2^53.
///
/// A gauge is not printed before its first value, because 0 would be a wrong age or size.
final class PrometheusValue: PrometheusSeries, CounterHandler, FloatingPointCounterHandler, MeterHandler {
    private let labels: PrometheusLabels
    private let value: Mutex<Double?>

    init(labels: PrometheusLabels, isCounter: Bool) {
        self.labels = labels
        value = Mutex(isCounter ? 0 : nil)
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { value.withLock { $0 = ($0 ?? 0) + amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func reset() { set(0.0) }
    func set(_ newValue: Int64) { set(Double(newValue)) }
    func set(_ newValue: Double) { value.withLock { $0 = newValue } }

    func render(name: String, into text: inout String) {
        guard let value = value.withLock({ $0 }) else { return }
        text += "\(name)\(labels.text) \(value.prometheusText)\n"
    }
}

/// A histogram. Durations are in seconds.
final class PrometheusHistogram: PrometheusSeries, TimerHandler, RecorderHandler {
    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let labels: PrometheusLabels
    /// The buckets' upper bounds.
    private let bounds: [Double]
    private let state: Mutex<State>

    init(labels: PrometheusLabels, bounds: [Double]) {
        self.labels = labels
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    /// The number of values in each bucket, and last the number above the highest bound.
    var counts: [Int] { state.withLock(\.counts) }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        // A clock that was set back makes a duration negative, and a sum must not fall.
        let value = max(0, value)
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func render(name: String, into text: inout String) {
        let state = self.state.withLock { $0 }
        var total = 0
        for (bound, count) in zip(bounds, state.counts) {
            total += count
            text += "\(name)_bucket\(labels.text(bound: bound.prometheusText)) \(total)\n"
        }
        total += state.counts[bounds.count]
        text += "\(name)_bucket\(labels.text(bound: "+Inf")) \(total)\n"
        text += "\(name)_sum\(labels.text) \(state.sum.prometheusText)\n"
        text += "\(name)_count\(labels.text) \(total)\n"
    }
}

extension Double {
    /// The number as text, without a fraction if it is whole.
    var prometheusText: String {
        self == rounded() && abs(self) < 9e15 ? "\(Int64(self))" : "\(self)"
    }
}
