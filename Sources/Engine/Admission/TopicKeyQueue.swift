import Foundation
import StatusCrypto

/// Which query topic's key is derived next, and which rows wait for it: a value.
///
/// A derivation takes 13 ms, and anybody can register and write on the topic that this brings. So a topic has one place, however many
/// messages come on it, and those who registered first are served first: a crowd of throw-away registrations delays nobody who was there
/// before. Messages wait as rows in the journal. What finds no place is tried again when the others are done: a late query is answered
/// from what is stored then.
struct TopicKeyQueue: Sendable {
    /// A topic that waits, by whose registration it is.
    struct Topic: Sendable, Equatable {
        var subscriber: TopicTable.Subscriber
        var keyHash: Digest64
    }

    private struct Key: Hashable {
        var keyHash: Digest64
        var isPrefixed: Bool

        init(_ topic: Topic) { (keyHash, isPrefixed) = (topic.keyHash, topic.subscriber.isPrefixed) }
    }

    /// Topics that wait: 13 s of work, and as much memory as some hundred messages.
    static let maximumTopicCount = 1_000

    private var topics: [Key: (topic: Topic, rows: [Int64])] = [:]
    /// What found no place.
    private var overflow: [Int64] = []

    /// - Returns: how many messages lost their place to it, itself perhaps.
    mutating func add(_ row: Int64, waitingFor topic: Topic) -> Int {
        topics[Key(topic), default: (topic, [])].rows.append(row)
        guard topics.count > Self.maximumTopicCount, let youngest = topics.max(by: { Self.isOlder($0, $1) })?.key,
            let rows = topics.removeValue(forKey: youngest)?.rows
        else { return 0 }
        overflow += rows
        return rows.count
    }

    /// The topic of the oldest registration.
    var next: Topic? { topics.min(by: Self.isOlder)?.value.topic }

    /// Takes the rows out that wait for a topic, whose key is there now; with the last topic, what had found no place.
    mutating func take(_ topic: Topic) -> [Int64] {
        var rows = topics.removeValue(forKey: Key(topic))?.rows ?? []
        if topics.isEmpty {
            rows += overflow
            overflow = []
        }
        return rows
    }

    private static func isOlder(
        _ left: (key: Key, value: (topic: Topic, rows: [Int64])), _ right: (key: Key, value: (topic: Topic, rows: [Int64]))
    ) -> Bool {
        left.value.topic.subscriber.registration < right.value.topic.subscriber.registration
    }
}
