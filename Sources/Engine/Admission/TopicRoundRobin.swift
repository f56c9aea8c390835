import DequeModule

/// Which message is opened next: a value. Content topics take turns, so whoever floods one delays the others by a message each, and topics
/// of which nothing opens have fewer turns: anybody may write on any topic, and to find out that it is junk costs a decryption.
struct TopicRoundRobin<Message: Sendable>: Sendable {
    /// Messages in a row that did not open, after which a topic is taken for one of junk: no client sends so many by mistake.
    static var patience: Int { 16 }
    /// Turns of others for each of a topic of junk.
    static var weight: Int { 8 }
    /// Topics whose failures are remembered; beyond, all are forgotten, which costs a few decryptions.
    static var maximumTopicCount: Int { 4_096 }

    private var waiting: [String: Deque<Message>] = [:]
    /// Topics of `waiting`, each once: ordinary ones, and those of junk.
    private var turns: Deque<String> = []
    private var junkTurns: Deque<String> = []
    private var turnsSinceJunk = 0
    /// Messages that wait.
    private(set) var count = 0
    /// In a row, by topic.
    private var failureCounts: [String: Int] = [:]

    mutating func add(_ message: Message, on topic: String) {
        waiting[topic, default: []].append(message)
        count += 1
        if waiting[topic]?.count == 1 { queueUp(topic) }
    }

    mutating func next() -> Message? {
        guard let topic = nextTopic(), let message = waiting[topic]?.popFirst() else { return nil }
        count -= 1
        if waiting[topic]?.isEmpty == true { waiting[topic] = nil } else { queueUp(topic) }
        return message
    }

    /// Notes what came of a message on the topic.
    mutating func note(_ topic: String, isJunk: Bool) {
        guard isJunk else {
            failureCounts[topic] = nil
            return
        }
        if failureCounts.count >= Self.maximumTopicCount, failureCounts[topic] == nil { failureCounts = [:] }
        failureCounts[topic, default: 0] += 1
    }

    private mutating func nextTopic() -> String? {
        if !junkTurns.isEmpty, turns.isEmpty || turnsSinceJunk >= Self.weight {
            turnsSinceJunk = 0
            return junkTurns.popFirst()
        }
        turnsSinceJunk += 1
        return turns.popFirst()
    }

    private mutating func queueUp(_ topic: String) {
        if failureCounts[topic, default: 0] < Self.patience { turns.append(topic) } else { junkTurns.append(topic) }
    }
}
