import CoreMetrics
import Engine
import Envelope
import Store
import Transport

/// The metrics that the server reads at each scrape.
struct Gauges: Sendable {
    private let store: any PushStore
    private let engine: Engine
    private let waku: WakuTransport?
    private let registrations = Meter(label: "pushserver_registrations")
    private let topics = Meter(label: "pushserver_query_topics")
    private let inFlight = Meter(label: "pushserver_messages_under_way")
    private let replies = Meter(label: "pushserver_replies_waiting")
    private let queued = Meter(label: "pushserver_pushes_queued")
    private let lostLogLines = Meter(label: "pushserver_log_lines_lost")
    private let oldestAge = Meter(label: "pushserver_oldest_queued_push_age_seconds")

    init(store: any PushStore, engine: Engine, waku: WakuTransport?, openFileLimit: Int) {
        self.store = store
        self.engine = engine
        self.waku = waku
        Meter(label: "pushserver_open_files_limit").set(openFileLimit)
    }

    /// Reads the values and sets the metrics. A metric whose value cannot be read does not change.
    func refresh() async {
        waku?.refreshGauges()
        topics.set(engine.queryTopicCount)
        lostLogLines.set(LogOutput.standardError.lostLineCount)
        inFlight.set(engine.inFlightCount)
        replies.set(engine.waitingReplyCount)
        if let count = try? await store.registrationCount() { registrations.set(count) }
        if let count = try? await store.queuedPushCount() { queued.set(count) }
        guard let oldest = try? await store.oldestQueuedPush() else {
            oldestAge.set(0)
            return
        }
        oldestAge.set(Double(WallClock.system.now().nanoseconds - oldest.nanoseconds) / 1e9)
    }
}
