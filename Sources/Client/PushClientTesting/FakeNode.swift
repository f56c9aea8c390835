package import Envelope
package import PushClient
import Tasks

/// A node for tests. Its servers reply to published messages immediately.
package protocol FakeNode: Sendable {
    func publish(_ envelope: WakuEnvelope) async throws

    /// Returns the messages on these topics since a time, including those that it has returned before.
    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope]
}

/// A fake node as a transport. A message reaches its subscribers before `publish` returns, and before a sleeper on the test's time wakes.
package struct FakeTransport: NodeTransport {
    let node: any FakeNode
    let time: TestClock

    package init(node: any FakeNode, time: TestClock) {
        self.node = node
        self.time = time
    }

    package func publish(_ message: NodeMessage) async throws {
        try await node.publish(message.envelope)
        await time.deliveries.settle()
    }

    package func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> Messages {
        let topics = Set(contentTopics.compactMap(Topic.init(contentTopic:)))
        let start = time.wallClock.now().advanced(by: .zero - Exchange.clockTolerance)
        return Messages(reader: time.deliveries.addReader(), deliveries: time.deliveries) { [node] in
            try await node.messages(on: pubsubTopic, topics: topics, since: start)
        }
    }

    package func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] {
        let topics = Set(contentTopics.compactMap(Topic.init(contentTopic:)))
        return try await node.messages(on: pubsubTopic, topics: topics, since: Timestamp(nanoseconds: start)).map(NodeMessage.init)
    }

    /// A sequence that reads the node once in each round of deliveries.
    package struct Messages: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let reader: Int
        let deliveries: Deliveries
        let read: @Sendable () async throws -> [WakuEnvelope]
        private var round = 0
        private var count = 0
        private var arrived: ArraySlice<WakuEnvelope> = []

        init(reader: Int, deliveries: Deliveries, read: @escaping @Sendable () async throws -> [WakuEnvelope]) {
            self.reader = reader
            self.deliveries = deliveries
            self.read = read
        }

        package func makeAsyncIterator() -> Messages { self }

        package mutating func next() async throws -> NodeMessage? {
            while true {
                if let envelope = arrived.popFirst() { return NodeMessage(envelope) }
                guard let round = await deliveries.nextRound(after: round, of: reader) else { return nil }
                self.round = round
                do {
                    let envelopes = try await read()
                    arrived = envelopes[Swift.min(count, envelopes.count)...]
                    count = envelopes.count
                } catch {
                    deliveries.removeReader(reader)
                    throw error
                }
            }
        }
    }
}

/// The rounds in which subscribers read messages that were published or have become due.
package final class Deliveries: Sendable {
    private struct State {
        var round = 1
        var lastReader = 0
        /// Each reader's last finished round.
        var finished: [Int: Int] = [:]
    }

    private let state = Monitor(State())

    func addReader() -> Int {
        state.update { state in
            state.lastReader += 1
            state.finished[state.lastReader] = 0
            return state.lastReader
        }
    }

    func removeReader(_ reader: Int) { state.update { _ = $0.finished.removeValue(forKey: reader) } }

    /// Starts a round.
    @discardableResult
    package func start() -> Int {
        state.update { state in
            state.round += 1
            return state.round
        }
    }

    /// Starts a round, and returns when all readers have finished it.
    package func settle() async {
        let round = start()
        await state.wait { $0.finished.values.allSatisfy { $0 >= round } ? () : nil }
    }

    /// Finishes the reader's round, and waits for the next round.
    ///
    /// - Returns: The next round, or nil if the task was cancelled.
    func nextRound(after round: Int, of reader: Int) async -> Int? {
        state.update { $0.finished[reader] = round }
        let next = await state.wait { $0.round > round ? $0.round : nil }
        if next == nil || Task.isCancelled {
            removeReader(reader)
            return nil
        }
        return next
    }
}
