import Concurrency
package import Envelope
import StatusCrypto
import Wire

/// Asks through a node and waits for answers.
package struct Exchange: Sendable {
    /// A store sorts by the time that a sender claims, and keeps what is off by at most 20 seconds (WAKU_REST.md §1.5).
    /// Server's clock and ours may be off in different directions.
    package static let clockTolerance = Duration.seconds(40)

    /// A node that has just lost its peers, or waits for its RLN proof, answers 5xx and is well again within seconds.
    static let publishBackOff = BackOff(first: .milliseconds(500), longest: .seconds(2), minimumShare: 1)
    static let maximumPublishAttemptCount = 4

    /// Servers that got the same question answer at much the same time.
    static let graceForOthers = Duration.seconds(1)

    package let node: any MessageNode
    package let pubsubTopic: String
    package let clock: any Clock<Duration>
    package let wallClock: WallClock

    package init(node: any MessageNode, pubsubTopic: String, clock: any Clock<Duration>, wallClock: WallClock) {
        self.node = node
        self.pubsubTopic = pubsubTopic
        self.clock = clock
        self.wallClock = wallClock
    }

    /// Publishes the request once, and returns the first answer to it.
    ///
    /// - Throws: `noAnswer` when the time is over; a request that was published may have taken effect nevertheless.
    package func ask<Request: SealedRequest>(_ request: Request, timeout: Duration) async throws(PushClientError) -> Request.Answer {
        var first: Request.Answer?
        try await listen(for: request, timeout: timeout, clock: clock) { answer in
            first = answer
            return false
        }
        guard let first else { throw .noAnswer(after: timeout) }
        return first
    }

    /// Publishes the request once, and returns all answers that come within the time; after the first one, within one more second.
    package func collect<Request: SealedRequest>(_ request: Request, for time: Duration) async throws(PushClientError) -> [Request.Answer] {
        var answers: [Request.Answer] = []
        let elapsed = stopwatch()
        var end = time
        try await listen(for: request, timeout: time, clock: clock) { answer in
            if answers.isEmpty { end = min(end, elapsed() + Self.graceForOthers) }
            answers.append(answer)
            return true
        } while: {
            elapsed() < end
        }
        return answers
    }

    /// Publishes the pieces of a request, in order.
    package func publish(_ payloads: [[UInt8]], on topic: TopicName) async throws(PushClientError) {
        for payload in payloads {
            var message = WakuMessage()
            message.payload = payload
            message.contentTopic = topic.topic.contentTopic
            message.version = RFC26.messageVersion
            message.timestamp = wallClock.now().nanoseconds
            try await publish(WakuEnvelope(pubsubTopic: pubsubTopic, message: message))
        }
    }

    /// Publishes again, byte for byte, what the node failed to publish: to the network that is the same message (WAKU_REST.md §1.2).
    private func publish(_ envelope: WakuEnvelope) async throws(PushClientError) {
        for failureCount in 1..<Self.maximumPublishAttemptCount {
            do {
                return try await node.publish(envelope)
            } catch .nodeRefused(status: 500..., _) {
                try await sleep(for: Self.publishBackOff.bound(afterFailures: failureCount))
            }
        }
        try await node.publish(envelope)
    }

    /// What the node has on the topics from a moment on, and perhaps more.
    package func messages(on topics: Set<Topic>, since start: Timestamp) async throws(PushClientError) -> [WakuEnvelope] {
        try await node.messages(on: pubsubTopic, topics: topics, since: start)
    }

    /// How much time passed since the call.
    func stopwatch() -> () -> Duration { Self.stopwatch(clock) }

    private static func stopwatch(_ clock: some Clock<Duration>) -> () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Lets time pass.
    package func sleep(for duration: Duration) async throws(PushClientError) {
        do {
            try await clock.sleep(for: duration)
        } catch {
            throw .cancelled
        }
    }

    /// - Parameter take: whether to go on listening after this answer.
    private func listen<Request: SealedRequest>(
        for request: Request, timeout: Duration, clock: some Clock<Duration>, take: (Request.Answer) -> Bool,
        while isWanted: () -> Bool = { true }
    ) async throws(PushClientError) {
        let answerTopic = TopicName.partitioned(request.asker.publicKey).topic
        let start = wallClock.now().advanced(by: .zero - Self.clockTolerance)
        var reader = MessageReader(.asymmetric(request.asker))
        func goesOn() async throws(PushClientError) -> Bool {
            for envelope in try await messages(on: [answerTopic], since: start) {
                guard let message = reader.read(envelope, now: wallClock.now()), let answer = request.answer(in: message) else { continue }
                guard take(answer) else { return false }
            }
            return true
        }

        // Asked first, so that a node that cannot receive is found out before the request has an effect; and what answers the question
        // already, because it was asked before, saves asking again.
        guard try await goesOn() else { return }
        try await publish(request.payloads, on: request.topic)
        let deadline = clock.now.advanced(by: timeout)
        var rhythm = PollRhythm()
        while try await goesOn(), clock.now < deadline, isWanted() {
            try await sleep(for: min(rhythm.next(), clock.now.duration(to: deadline)))
        }
    }
}
