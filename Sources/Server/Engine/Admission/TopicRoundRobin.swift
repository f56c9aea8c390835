import DequeModule

/// Decides which message is opened next within a class of topics.
///
/// Content topics alternate, so a flood on a topic delays every other topic by a single message. Any client may publish on any topic, and
/// junk costs a decryption. So a topic with many consecutive junk messages is served less often.
struct TopicRoundRobin<Message: Sendable>: Sendable {
    /// So many junk messages in a row demote a topic. No client sends them by mistake.
    static var maximumJunkCount: Int { 16 }
    /// How many messages of other topics come between two messages of demoted topics.
    static var demotionWeight: Int { 8 }
    /// Topics with counted junk. Beyond that all counts restart at 0, which costs a few decryptions.
    static var maximumTopicCount: Int { 4_096 }

    private var waiting: [String: Deque<Message>] = [:]
    /// Topics of `waiting`, each once, in the order in which they are served.
    private var topics: Deque<String> = []
    /// Demoted topics of `waiting`, in the order in which they are served.
    private var demotedTopics: Deque<String> = []
    private var countSinceDemoted = 0
    /// The number of waiting messages.
    private(set) var count = 0
    /// The number of consecutive junk messages, by topic.
    private var junkCounts: [String: Int] = [:]

    mutating func add(_ message: Message, on topic: String) {
        waiting[topic, default: []].append(message)
        count += 1
        if waiting[topic]?.count == 1 { enqueue(topic) }
    }

    mutating func next() -> Message? {
        guard let topic = nextTopic(), let message = waiting[topic]?.popFirst() else { return nil }
        count -= 1
        if waiting[topic]?.isEmpty == true { waiting[topic] = nil } else { enqueue(topic) }
        return message
    }

    /// Counts a junk message on a topic. A good message resets the count.
    mutating func recordResult(isJunk: Bool, on topic: String) {
        guard isJunk else {
            junkCounts[topic] = nil
            return
        }
        if junkCounts.count >= Self.maximumTopicCount, junkCounts[topic] == nil { junkCounts = [:] }
        junkCounts[topic, default: 0] += 1
    }

    private mutating func nextTopic() -> String? {
        if !demotedTopics.isEmpty, topics.isEmpty || countSinceDemoted >= Self.demotionWeight {
            countSinceDemoted = 0
            return demotedTopics.popFirst()
        }
        countSinceDemoted += 1
        return topics.popFirst()
    }

    private mutating func enqueue(_ topic: String) {
        if junkCounts[topic, default: 0] < Self.maximumJunkCount { topics.append(topic) } else { demotedTopics.append(topic) }
    }
}
