package import Envelope
package import StatusCrypto
import Wire

/// A subscription to topics. It returns the messages in the node's store first, then new messages as they arrive, and each message once.
/// After a failure it subscribes again, and reads from the store what it may have missed. If only the store fails, new messages still
/// arrive.
package struct Subscription: Sendable {
    /// A received message.
    package struct Arrival: Sendable {
        package let topic: TopicName
        package let message: OpenedMessage
        /// The time that the sender claims. If the sender repeats the message, it may claim another time.
        package let sentAt: Timestamp
    }

    private struct Entry: Sendable {
        let name: TopicName
        var reader: TopicReader
    }

    private var entries: [Topic: [Entry]] = [:]
    private var since: Timestamp
    private var inbox: Inbox?
    /// The reason why the store could not be read at the last call. The next call tries again.
    package private(set) var historyFailure: PushClientError?

    /// - Parameters:
    ///   - topics: The topics that everyone can decrypt who knows their names.
    ///   - own: The topics with messages encrypted to the given key.
    ///   - since: The time from which the store is searched.
    package init(to topics: [TopicName], own: [(topic: TopicName, key: PrivateKey)] = [], since: Timestamp) {
        self.since = since
        let all =
            topics.map { Entry(name: $0, reader: TopicReader(.topic($0))) }
            + own.map { Entry(name: $0.topic, reader: TopicReader(.asymmetric($0.key))) }
        for entry in all { entries[entry.name.topic, default: []].append(entry) }
    }

    /// Returns new messages in the order in which they were sent.
    package mutating func next(from node: Node) async throws -> [Arrival] {
        let now = node.now
        let envelopes = try await newEnvelopes(from: node)
        var arrivals: [Arrival] = []
        for envelope in envelopes {
            guard let topic = Topic(contentTopic: envelope.message.contentTopic) else { continue }
            for (index, name) in (entries[topic] ?? []).map(\.name).enumerated() {
                // Modified in place: a reader has a large memory.
                guard let message = entries[topic]?[index].reader.read(envelope, now: now) else { continue }
                let sentAt = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
                arrivals.append(Arrival(topic: name, message: message, sentAt: sentAt))
            }
        }
        return arrivals.sorted { $0.sentAt < $1.sentAt }
    }

    /// Returns when messages may have arrived, or when the task is cancelled.
    package func wait() async {
        await inbox?.wait()
    }

    /// Returns when messages may have arrived, at the latest after the duration.
    package func wait(atMost duration: Duration, _ node: Node) async throws {
        if let inbox { try await node.exchange.wait(for: inbox, atMost: duration) }
    }

    private mutating func newEnvelopes(from node: Node) async throws -> [WakuEnvelope] {
        let now = node.now
        // A message that arrives later may claim an earlier time.
        let next = now.advanced(by: .zero - Exchange.clockTolerance)
        let start = since.ifPast(at: now) ?? next
        do {
            let isNew = inbox == nil
            let inbox = if let inbox { inbox } else { try await node.exchange.subscribe(to: Set(entries.keys)) }
            self.inbox = inbox
            var envelopes = isNew ? [] : try node.exchange.take(from: inbox)
            if isNew || historyFailure != nil {
                do {
                    envelopes = try await node.exchange.history(of: Set(entries.keys), since: start) + envelopes
                    historyFailure = nil
                } catch let error as PushClientError {
                    historyFailure = error
                }
            }
            if historyFailure == nil { since = max(start, next) }
            return envelopes
        } catch {
            inbox = nil
            throw error
        }
    }
}
