/// Bundle ids that Apple takes, and those that it refuses though it should know them. An operator is not told of the others: anybody can
/// invent one.
///
/// Times are those of a monotonic clock, from its start.
struct TopicFaults: Sendable {
    /// Without news there is nobody it concerns.
    static let holdingTime = Duration.seconds(900)
    /// Apps that deliver through one route are a handful.
    private static let maximumTopicCount = 1_000

    /// Those that the configuration names.
    private let configured: Set<String>
    /// Those that a push was ever delivered to.
    private(set) var delivered: Set<String> = []
    /// The part of these that is known to be written down.
    private(set) var saved: Set<String> = []
    private var faults: [String: (reason: String, time: Duration)] = [:]

    init(configured: Set<String>) {
        self.configured = configured
    }

    /// Whether Apple should know it.
    func isKnown(_ topic: String) -> Bool { configured.contains(topic) || delivered.contains(topic) }

    mutating func refused(_ topic: String, reason: String, at now: Duration) {
        if isKnown(topic) { faults[topic] = (reason, now) }
    }

    /// - Returns: whether it is the first time.
    mutating func delivered(_ topic: String) -> Bool {
        faults[topic] = nil
        return delivered.count < Self.maximumTopicCount && delivered.insert(topic).inserted
    }

    /// Those are written down, from now on or from an earlier process.
    mutating func saved(_ topics: some Sequence<String>) {
        saved.formUnion(topics)
        delivered.formUnion(saved)
    }

    /// In words for an operator.
    func healthIssues(at now: Duration) -> [String] {
        faults.filter { now - $0.value.time < Self.holdingTime }.sorted { $0.key < $1.key }
            .map { "Apple refuses the bundle id \($0.key): \($0.value.reason)" }
    }
}
