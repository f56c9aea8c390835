import Bytes
import Envelope
public import PushClient
import StatusCrypto

/// The messages that a node receives on some topics, polled until the task is cancelled or the node fails. Subscribing includes the first
/// poll.
public struct RESTMessages: AsyncSequence, Sendable {
    private let transport: RESTTransport
    private let topics: Set<Topic>
    private let pubsubTopic: String
    /// When the subscription started.
    private let start: Timestamp
    /// The messages that the first poll returned.
    private let first: [WakuEnvelope]

    /// Subscribes with a first poll, so that a node that cannot receive fails here.
    init(_ transport: RESTTransport, _ topics: Set<Topic>, _ pubsubTopic: String) async throws {
        self.transport = transport
        self.topics = topics
        self.pubsubTopic = pubsubTopic
        await transport.compareClocks(on: pubsubTopic)
        start = transport.now
        first = try await transport.messages(
            on: pubsubTopic, topics: topics, since: start.advanced(by: .zero - Exchange.clockTolerance))
    }

    /// Starts to poll.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(messages: self) }

    /// The polls, and the messages that they returned.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Remembered messages, which a store returns at every poll until they are 40 s old.
        private static let maximumSeenCount = 10_000

        private let messages: RESTMessages
        private var rhythm = PollRhythm()
        private var lastPoll: Timestamp
        private var arrived: ArraySlice<NodeMessage> = []
        private var seen: Set<Digest32> = []

        fileprivate init(messages: RESTMessages) {
            self.messages = messages
            lastPoll = messages.start
            arrived = news(messages.first)
        }

        /// Returns the next message.
        ///
        /// - Throws: `PushClientError` if the node fails, or `CancellationError`.
        public mutating func next() async throws -> NodeMessage? {
            while true {
                if let message = arrived.popFirst() { return message }
                try await Task.sleep(for: rhythm.next())
                let now = messages.transport.now
                // A message that arrives later may claim an earlier time.
                let start = lastPoll.advanced(by: .zero - Exchange.clockTolerance)
                let envelopes = try await messages.transport.messages(on: messages.pubsubTopic, topics: messages.topics, since: start)
                lastPoll = now
                arrived = news(envelopes)
            }
        }

        private mutating func news(_ envelopes: [WakuEnvelope]) -> ArraySlice<NodeMessage> {
            if seen.count > Self.maximumSeenCount { seen = [] }
            return envelopes.filter { seen.insert($0.hash).inserted }.map(NodeMessage.init)[...]
        }
    }
}
