import Envelope
import MetricDeclarations
import Store

/// The metrics that the server reads from the store at each scrape.
struct StoreGauges: Sendable {
    private let store: any PushStore
    private let registrations: PrometheusValue
    private let oldestPushAge: PrometheusValue

    init(store: any PushStore, registry: PrometheusRegistry) {
        self.store = store
        registrations = registry.value(of: Self.registrations)
        oldestPushAge = registry.value(of: Self.oldestPushAge)
    }

    /// Reads the values and sets the metrics. A metric keeps its value if the store cannot be read.
    func refresh(at now: Timestamp) async {
        if let count = try? await store.registrationCount() { registrations.set(Double(count)) }
        do {
            let oldest = try await store.oldestQueuedPush()
            oldestPushAge.set(oldest.map { Double(now.nanoseconds - $0.nanoseconds) / 1e9 } ?? 0)
        } catch {
            // 0 would say that no push waits.
        }
    }
}

extension StoreGauges {
    static let declarations = [registrations, oldestPushAge]

    private static let registrations = Metric(.gauge, "pushserver_registrations", help: "Live registrations.")
    private static let oldestPushAge = Metric(
        .gauge, "pushserver_outbox_oldest_age_seconds", help: "Age of the oldest open push; 0 if no push is open.")
}
