import CoreMetrics
import Synchronization

/// A counter or a gauge. The value is a Double, as in Prometheus: whole numbers are exact up to 2^53.
final class PrometheusValue: PrometheusSeries, CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    private let labels: String
    private let value = Mutex<Double>(0)

    init(labels: String) {
        self.labels = labels
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func reset() { set(0.0) }
    func set(_ newValue: Int64) { set(Double(newValue)) }
    func set(_ newValue: Double) { value.withLock { $0 = newValue } }
    func record(_ newValue: Int64) { set(newValue) }
    func record(_ newValue: Double) { set(newValue) }

    func render(name: String, into text: inout String) {
        text += "\(name)\(labels) \(value.withLock { $0 }.prometheusText)\n"
    }
}

/// A histogram. Durations are in seconds.
final class PrometheusHistogram: PrometheusSeries, TimerHandler, RecorderHandler {
    /// The upper bounds of the buckets in seconds, from a quick local response to a timeout.
    private static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    private struct State {
        var counts = Array(repeating: 0, count: PrometheusHistogram.bounds.count + 1)
        var sum = 0.0
    }

    /// The labels without the closing brace, so that `le` can follow.
    private let openLabels: String
    private let labels: String
    private let state = Mutex(State())

    init(labels: String) {
        self.labels = labels
        openLabels = labels.isEmpty ? "{" : labels.dropLast() + ","
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func render(name: String, into text: inout String) {
        let state = self.state.withLock { $0 }
        var total = 0
        for (bound, count) in zip(Self.bounds, state.counts) {
            total += count
            text += "\(name)_bucket\(openLabels)le=\"\(bound.prometheusText)\"} \(total)\n"
        }
        total += state.counts[Self.bounds.count]
        text += "\(name)_bucket\(openLabels)le=\"+Inf\"} \(total)\n"
        text += "\(name)_sum\(labels) \(state.sum.prometheusText)\n"
        text += "\(name)_count\(labels) \(total)\n"
    }
}

extension Double {
    /// The number as text, without a fraction if it is whole.
    fileprivate var prometheusText: String {
        self == rounded() && abs(self) < 9e15 ? "\(Int64(self))" : "\(self)"
    }
}
