package import Envelope
package import StatusCrypto
import Wire

/// Asks a server through a node and waits for the answer.
package struct Exchange: Sendable {
    /// How often the node is asked for news. The quickest answer of a server takes some milliseconds, the slowest 3 seconds.
    package static let pollInterval = Duration.milliseconds(250)
    /// A store sorts by the time that a sender claims, and keeps what is off by at most 20 seconds (WAKU_REST.md §1.5).
    /// Server's clock and ours may be off in different directions.
    package static let clockTolerance = Duration.seconds(40)

    package let server: PublicKey
    package let node: any MessageNode
    package let pubsubTopic: String
    package let timeout: Duration
    package let clock: any Clock<Duration>
    package let wallClock: WallClock

    package init(
        server: PublicKey, node: any MessageNode, pubsubTopic: String, timeout: Duration, clock: any Clock<Duration>, wallClock: WallClock
    ) {
        self.server = server
        self.node = node
        self.pubsubTopic = pubsubTopic
        self.timeout = timeout
        self.clock = clock
        self.wallClock = wallClock
    }

    /// Publishes the request once, and returns the first answer to it.
    ///
    /// - Throws: `noAnswer` when the time is over; a request that was published may have taken effect nevertheless.
    package func ask<Asked: Question>(_ question: Asked) async throws(PushClientError) -> Asked.Answer {
        try await ask(question, clock: clock)
    }

    private func ask<Asked: Question>(_ question: Asked, clock: some Clock<Duration>) async throws(PushClientError) -> Asked.Answer {
        let answerTopic = TopicName.partitioned(question.asker.publicKey).topic
        let start = wallClock.now().advanced(by: .zero - Self.clockTolerance)
        func messages() async throws(PushClientError) -> [WakuEnvelope] {
            try await node.messages(on: pubsubTopic, topic: answerTopic, since: start)
        }

        // Asked first, so that a node that cannot receive is found out before the request has an effect.
        var seen = Set(try await messages().map(\.hash))
        try await node.publish(request(question))
        let deadline = clock.now.advanced(by: timeout)
        while true {
            for envelope in try await messages() where seen.insert(envelope.hash).inserted {
                if let answer = question.answer(in: envelope, from: server) { return answer }
            }
            guard clock.now < deadline else { throw .noAnswer(after: timeout) }
            do {
                try await clock.sleep(for: Self.pollInterval)
            } catch {
                throw .cancelled
            }
        }
    }

    private func request(_ question: some Question) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = question.payload
        message.contentTopic = question.topic.topic.contentTopic
        message.version = RFC26.messageVersion
        message.timestamp = wallClock.now().nanoseconds
        return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
    }
}
