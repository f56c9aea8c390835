import CoreMetrics
import Synchronization

/// The values of the counters whose handles are made during a test.
package final class CountedMetrics: Sendable {
    @TaskLocal private static var current: CountedMetrics?
    private static let factory: Void = MetricsSystem.bootstrap(Factory())

    private let values = Mutex<[String: Int]>([:])

    /// The counters that are not 0, by name and labels, like `pushserver_reply_echoes_total dropped`.
    package var all: [String: Int] { values.withLock { $0.filter { $0.value != 0 } } }

    /// Passes the values of the counters whose handles the body makes.
    package static func with<Result>(_ body: (CountedMetrics) async throws -> Result) async rethrows -> Result {
        _ = factory
        let counted = CountedMetrics()
        return try await $current.withValue(counted) { try await body(counted) }
    }

    private final class Count: CounterHandler {
        let name: String
        let counted: CountedMetrics

        init(_ name: String, _ counted: CountedMetrics) { (self.name, self.counted) = (name, counted) }

        func increment(by amount: Int64) { counted.values.withLock { $0[name, default: 0] += Int(amount) } }
        func reset() { counted.values.withLock { $0[name] = 0 } }
    }

    /// Counts for the test that makes a handle. All other handles do nothing.
    private struct Factory: MetricsFactory {
        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            guard let counted = CountedMetrics.current else { return NOOPMetricsHandler.instance }
            return Count(([label] + dimensions.map(\.1)).joined(separator: " "), counted)
        }

        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            NOOPMetricsHandler.instance
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { NOOPMetricsHandler.instance }
        func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { NOOPMetricsHandler.instance }

        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
        func destroyMeter(_ handler: any MeterHandler) {}
    }
}
