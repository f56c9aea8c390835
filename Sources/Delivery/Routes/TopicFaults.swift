/// Bundle ids that Apple refuses though it should know them. What strangers register as one is none of an operator's.
///
/// Times are those of a monotonic clock, from its start.
struct TopicFaults: Sendable {
    /// Without news there is nobody it concerns.
    static let holdingTime = Duration.seconds(900)
    /// Apps that deliver through one route are a handful.
    private static let maximumTopicCount = 1_000

    /// Those that pushes were delivered to, or that the configuration names.
    private var known: Set<String>
    private var faults: [String: (reason: String, time: Duration)] = [:]

    init(known: Set<String>) {
        self.known = known
    }

    mutating func refused(_ topic: String, reason: String, at now: Duration) {
        if known.contains(topic) { faults[topic] = (reason, now) }
    }

    mutating func delivered(_ topic: String) {
        if known.count < Self.maximumTopicCount { known.insert(topic) }
        faults[topic] = nil
    }

    /// In words for an operator.
    func troubles(at now: Duration) -> [String] {
        faults.filter { now - $0.value.time < Self.holdingTime }.sorted { $0.key < $1.key }
            .map { "Apple refuses the bundle id \($0.key): \($0.value.reason)" }
    }
}
