package import Envelope
import StatusCrypto
import Tasks
import Wire

/// Publishes requests through a node and waits for their replies.
package struct Exchange: Sendable {
    /// The tolerance between clocks: a store sorts by the time that a sender claims, and keeps messages whose time is wrong by at most 20 s
    /// (WAKU_REST.md §1.5). The server's clock and the client's may differ in opposite directions.
    package static let clockTolerance = Duration.seconds(40)

    /// The back-off of publishing: a node that has just lost its peers, or waits for its RLN proof, answers 5xx and recovers within
    /// seconds.
    static let publishBackOff = BackOff(first: .milliseconds(500), longest: .seconds(2), minimumShare: 1)
    static let maximumPublishAttemptCount = 4

    /// The time to wait for further servers after the first useful reply: servers reply to the same query at nearly the same time.
    static let graceForOthers = Duration.seconds(1)

    package let transport: any NodeTransport
    package let pubsubTopic: String
    package let clock: any Clock<Duration>
    package let wallClock: WallClock

    package init(transport: any NodeTransport, pubsubTopic: String, clock: any Clock<Duration>, wallClock: WallClock) {
        self.transport = transport
        self.pubsubTopic = pubsubTopic
        self.clock = clock
        self.wallClock = wallClock
    }

    /// Publishes the request once and returns the first reply to it.
    ///
    /// - Throws: `noReply` after the timeout. A published request may have taken effect nevertheless.
    package func ask<Request: SealedRequest>(_ request: Request, timeout: Duration) async throws -> Request.Answer {
        var first: Request.Answer?
        try await listen(for: request, timeout: timeout, clock: clock) { answer in
            first = answer
            return false
        }
        guard let first else { throw PushClientError.noReply(after: timeout) }
        return first
    }

    /// Publishes the request once and returns all replies within the time, or within one second after the first useful one.
    ///
    /// - Parameter isUseful: Whether a reply is what the caller asks for. Others do not shorten the wait: some servers reply with nothing.
    package func collect<Request: SealedRequest>(
        _ request: Request, for time: Duration, isUseful: (Request.Answer) -> Bool
    ) async throws -> [Request.Answer] {
        var answers: [Request.Answer] = []
        let elapsed = stopwatch()
        var end = time
        try await listen(for: request, timeout: time, clock: clock) { answer in
            if isUseful(answer) { end = min(end, elapsed() + Self.graceForOthers) }
            answers.append(answer)
            return true
        } while: {
            elapsed() < end
        }
        return answers
    }

    /// Publishes the payloads of a request in order.
    package func publish(_ payloads: [[UInt8]], on topic: TopicName) async throws {
        for payload in payloads {
            var message = WakuMessage()
            message.payload = payload
            message.contentTopic = topic.topic.contentTopic
            message.version = RFC26.messageVersion
            message.timestamp = wallClock.now().nanoseconds
            try await publish(WakuEnvelope(pubsubTopic: pubsubTopic, message: message))
        }
    }

    /// Publishes an envelope, and retries byte for byte when the node fails: the network treats it as the same message (WAKU_REST.md §1.2).
    private func publish(_ envelope: WakuEnvelope) async throws {
        for failureCount in 1..<Self.maximumPublishAttemptCount {
            do {
                return try await answer { try await transport.publish(NodeMessage(envelope)) }
            } catch let error as PushClientError where error.status.map({ $0 >= 500 }) == true {
                try await sleep(for: Self.publishBackOff.bound(afterFailures: failureCount))
            }
        }
        try await answer { try await transport.publish(NodeMessage(envelope)) }
    }

    /// Returns the messages on the topics since a time that the node has kept, and perhaps more.
    package func history(of topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        try await answer {
            try await transport.history(of: Set(topics.map(\.contentTopic)), on: pubsubTopic, since: start.nanoseconds).map(\.envelope)
        }
    }

    /// Subscribes to topics.
    package func subscribe(to topics: Set<Topic>) async throws -> Inbox {
        try await answer { try await Inbox(transport, to: topics, on: pubsubTopic) }
    }

    /// Removes and returns the messages of a subscription that have arrived.
    package func take(from inbox: Inbox) throws -> [WakuEnvelope] {
        do {
            return try inbox.take()
        } catch {
            throw PushClientError(ofTransport: error)
        }
    }

    /// Waits until a subscription has a message, at most for a duration.
    package func wait(for inbox: Inbox, atMost duration: Duration) async throws {
        _ = await withTimeout(duration, clock: clock) { await inbox.wait() }
        try Task.checkCancellation()
    }

    /// Returns the node's answer. A cancelled call throws `CancellationError`, whatever the transport makes of it.
    private func answer<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch {
            try Task.checkCancellation()
            throw PushClientError(ofTransport: error)
        }
    }

    /// Returns a function that returns the time passed since this call.
    func stopwatch() -> () -> Duration { Self.stopwatch(clock) }

    private static func stopwatch(_ clock: some Clock<Duration>) -> () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Waits for a duration.
    package func sleep(for duration: Duration) async throws {
        try await clock.sleep(for: duration)
    }

    /// - Parameter take: Whether to keep listening after this reply.
    private func listen<Request: SealedRequest>(
        for request: Request, timeout: Duration, clock: some Clock<Duration>, take: (Request.Answer) -> Bool,
        while isWanted: () -> Bool = { true }
    ) async throws {
        let answerTopic = TopicName.partitioned(request.asker.publicKey).topic
        let start = wallClock.now().advanced(by: .zero - Self.clockTolerance)
        var reader = MessageReader(.asymmetric(request.asker))
        func goesOn(_ envelopes: [WakuEnvelope]) -> Bool {
            for envelope in envelopes {
                guard let message = reader.read(envelope, now: wallClock.now()), let answer = request.answer(in: message) else { continue }
                guard take(answer) else { return false }
            }
            return true
        }

        // Subscription and history precede the request, so that a node that cannot receive fails before the request has an effect. A reply
        // to an earlier copy of the request also saves publishing it again.
        let inbox = try await subscribe(to: [answerTopic])
        guard goesOn(try await history(of: [answerTopic], since: start)) else { return }
        try await publish(request.payloads, on: request.topic)
        let deadline = clock.now.advanced(by: timeout)
        var rhythm = PollRhythm()
        while goesOn(try self.take(from: inbox)), isWanted() {
            guard clock.now < deadline else {
                // A subscription may have missed the reply, for example while the node had no connection.
                _ = goesOn(try await history(of: [answerTopic], since: start))
                return
            }
            try await wait(for: inbox, atMost: min(rhythm.next(), clock.now.duration(to: deadline)))
        }
    }
}

extension PushClientError {
    /// Returns the error of a transport as one of this library.
    fileprivate init(ofTransport error: any Error) {
        self = error as? PushClientError ?? .nodeUnreachable(reason: "\(error)")
    }
}
