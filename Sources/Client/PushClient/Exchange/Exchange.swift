package import Envelope
import StatusCrypto
import Tasks
import Wire

/// Publishes requests through a node and waits for their replies.
package struct Exchange: Sendable {
    /// The tolerance between clocks. Stores sort by the time that a sender claims, and keep messages whose time is wrong by at most 20 s
    /// (WAKU_REST.md §1.5). A server and a client may both be wrong by that much, in opposite directions.
    package static let clockTolerance = Duration.seconds(40)
    /// The difference up to which stores keep a message.
    private static let longestClockLead = Duration.seconds(20)

    /// Whether a store keeps no message of a device whose clock is ahead, or behind, by so much.
    package static func isWrong(clockLead: Duration) -> Bool { clockLead > longestClockLead || clockLead < .zero - longestClockLead }

    /// By how much this device's clock is ahead of the node's, if the transport knows.
    package var clockLead: Duration? { transport.clockLead }

    /// The back-off of publishing: a node that has just lost its peers, or waits for its RLN proof, answers 5xx and recovers within
    /// seconds.
    static let publishBackOff = BackOff(first: .milliseconds(500), longest: .seconds(2), minimumShare: 1)
    static let maximumPublishAttemptCount = 4

    /// How long the node's calls for a request may take in addition to the wait for the reply. A node that responds slowly to each call
    /// then delays the caller only once.
    static let maximumOverhead = Duration.seconds(30)

    /// The time to wait for further replies after the first useful one: servers reply to the same query at nearly the same time, and
    /// publish both responses of a long answer together.
    static let graceForOthers = Duration.seconds(1)

    package let pubsubTopic: String
    package let clock: any Clock<Duration>
    package let wallClock: WallClock
    let limits: CallLimits
    let limitClock: any Clock<Duration>
    private let transport: any NodeTransport
    /// The calls to the transport, shared by all clients that use the node.
    let calls: BoundedCalls
    /// Sends each time the node takes messages again after it had failed.
    let recoveries = Broadcast<Void>()
    /// The calls whose last attempt failed. Only those without which nothing can be sent.
    private let failing = Monitor<Set<String>>([])

    init(
        transport: any NodeTransport, pubsubTopic: String, clock: any Clock<Duration>, wallClock: WallClock, limits: CallLimits,
        limitClock: any Clock<Duration>
    ) {
        self.transport = transport
        self.pubsubTopic = pubsubTopic
        self.clock = clock
        self.wallClock = wallClock
        self.limits = limits
        self.limitClock = limitClock
        calls = BoundedCalls(clock: limitClock)
    }

    /// Publishes the request once and returns the first reply to it.
    ///
    /// - Parameter timeout: The time to wait after the request is published. It ends earlier if the node's own calls take longer than
    ///   ``maximumOverhead``.
    /// - Throws: `noReply` after the timeout. A published request may have taken effect nevertheless.
    package func ask<Request: SealedRequest>(_ request: Request, timeout: Duration) async throws -> Request.Answer {
        guard let answer = try await ask(request, timeout: timeout, unless: { false }) else {
            throw PushClientError.noReply(after: timeout, clockLead: clockLead)
        }
        return answer
    }

    /// Publishes the request once, and returns the first reply to it, like ``ask(_:timeout:)``.
    ///
    /// - Parameter isDone: Whether somebody else has done what the request is for. Asked every ``PollRhythm/last`` while the reply is
    ///   missing.
    /// - Returns: The reply, or nil if no reply is needed any more.
    package func ask<Request: SealedRequest>(
        _ request: Request, timeout: Duration, unless isDone: @escaping @Sendable () async -> Bool
    ) async throws -> Request.Answer? {
        var first: Request.Answer?
        var isOver = false
        let elapsed = stopwatch()
        var nextQuestion = PollRhythm.last
        let failure = try await listen(for: request, timeout: timeout, clock: clock) { answer in
            first = answer
            return false
        } while: {
            guard elapsed() >= nextQuestion else { return true }
            nextQuestion = elapsed() + PollRhythm.last
            isOver = await isDone()
            return !isOver
        }
        if isOver { return nil }
        guard let first else { throw failure ?? PushClientError.noReply(after: timeout, clockLead: clockLead) }
        return first
    }

    /// Publishes the request once and passes on all replies within the time.
    ///
    /// - Parameter take: Takes a reply, and returns how long to wait for further ones, or nil if it is not what the caller asks for. Such
    ///   replies do not shorten the wait, because some servers reply with nothing, and strangers with anything.
    package func collect<Request: SealedRequest>(
        _ request: Request, for time: Duration, take: (Request.Answer) -> Duration?
    ) async throws {
        let elapsed = stopwatch()
        var end = time
        var hasReply = false
        let failure = try await listen(for: request, timeout: time, clock: clock) { answer in
            if let wait = take(answer) { end = min(end, elapsed() + wait) }
            hasReply = true
            return true
        } while: {
            elapsed() < end
        }
        if !hasReply, let failure { throw failure }
    }

    /// Publishes a request's payloads in order. Retries byte for byte when the node fails: the network treats it as the same message
    /// (WAKU_REST.md §1.2).
    ///
    /// - Returns: Nil, or why it is unknown whether the request was published.
    func publishRequest(
        _ payloads: [[UInt8]], on topic: TopicName, atMost limit: Duration? = nil
    ) async throws -> PushClientError? {
        let messages = payloads.map { payload in
            var message = WakuMessage()
            message.payload = payload
            message.contentTopic = topic.topic.contentTopic
            message.version = RFC26.messageVersion
            message.timestamp = wallClock.now().nanoseconds
            return NodeMessage(WakuEnvelope(pubsubTopic: pubsubTopic, message: message))
        }
        do {
            try await watched("publish") {
                try await answer("publish", atMost: limit ?? limits.publishing) { [transport, clock] in
                    for message in messages { try await Self.publish(message, through: transport, clock: clock) }
                }
            }
            return nil
        } catch let abandoned as AbandonedCall {
            return abandoned.error
        }
    }

    /// Publishes payloads to which nobody replies.
    package func publish(_ payloads: [[UInt8]], on topic: TopicName) async throws {
        if let failure = try await publishRequest(payloads, on: topic) { throw failure }
    }

    private static func publish(_ message: NodeMessage, through transport: any NodeTransport, clock: any Clock<Duration>) async throws {
        for failureCount in 1..<maximumPublishAttemptCount {
            try Task.checkCancellation()
            do {
                return try await transport.publish(message)
            } catch let error as PushClientError where error.status.map({ $0 >= 500 }) == true {
                try await clock.sleep(for: publishBackOff.bound(afterFailures: failureCount))
            }
        }
        try await transport.publish(message)
    }

    /// Returns the messages on the topics since a time that the node has kept, and perhaps more.
    package func history(of topics: Set<Topic>, since start: Timestamp, atMost limit: Duration? = nil) async throws -> [WakuEnvelope] {
        try await withoutAbandoning {
            try await answer("history", atMost: limit ?? limits.history) { [transport, pubsubTopic] in
                try await transport.history(of: Set(topics.map(\.contentTopic)), on: pubsubTopic, since: start.nanoseconds).map(\.envelope)
            }
        }
    }

    /// Returns the messages that the node has kept, like ``history(of:since:)``, or nil if the node fails. For callers that also have a
    /// subscription, which brings what they wait for.
    package func historyIfAvailable(
        of topics: Set<Topic>, since start: Timestamp, atMost limit: Duration? = nil
    ) async throws -> [WakuEnvelope]? {
        do {
            return try await history(of: topics, since: start, atMost: limit)
        } catch is PushClientError {
            return nil
        }
    }

    package func subscribe(to topics: Set<Topic>) async throws -> Inbox {
        try await withoutAbandoning {
            try await watched("subscribe") {
                try await answer("subscribe", atMost: limits.subscribing) { [transport, pubsubTopic] in
                    try await transport.inbox(of: topics, on: pubsubTopic)
                }
            }
        }
    }

    /// Removes and returns the messages that have arrived on a subscription.
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

    /// An abandoned call, which the transport may still perform.
    private struct AbandonedCall: Error {
        let error: PushClientError
    }

    /// Returns the transport's answer. A cancelled call throws `CancellationError`, whatever the transport makes of it.
    ///
    /// - Throws: ``AbandonedCall``, or the transport's error as a ``PushClientError``.
    private func answer<Answer: Sendable>(
        _ name: String, atMost limit: Duration, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await calls.call(atMost: limit, body)
        } catch {
            try Task.checkCancellation()
            switch error {
            case BoundedCalls.Failure.abandoned(let limit):
                throw AbandonedCall(error: .nodeUnreachable(reason: "\(name) did not return within \(limit.formattedSeconds)"))
            case BoundedCalls.Failure.busy:
                throw PushClientError.nodeUnreachable(reason: "earlier calls of the node have not returned")
            default: throw PushClientError(ofTransport: error)
            }
        }
    }

    /// Tells the clients when the node works again. A cancelled call says nothing about it.
    private func watched<Answer>(_ name: String, _ body: () async throws -> Answer) async throws -> Answer {
        do {
            let answer = try await body()
            let hasRecovered = failing.update { $0.remove(name) != nil && $0.isEmpty }
            if hasRecovered { recoveries.send(()) }
            return answer
        } catch {
            if !(error is CancellationError) { failing.update { _ = $0.insert(name) } }
            throw error
        }
    }

    /// Makes an abandoned call an error like any other, for calls without effect.
    private func withoutAbandoning<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch let abandoned as AbandonedCall {
            throw abandoned.error
        }
    }

    /// Returns a function that returns the time passed since this call.
    func stopwatch() -> () -> Duration { clock.stopwatch() }

    /// Waits for a duration.
    package func sleep(for duration: Duration) async throws {
        try await clock.sleep(for: duration)
    }

    /// - Parameter take: Whether to keep listening after this reply.
    /// - Returns: Why it is unknown whether the request was published, or nil if it was.
    private func listen<Request: SealedRequest>(
        for request: Request, timeout: Duration, clock: some Clock<Duration>, take: (Request.Answer) -> Bool,
        while isWanted: () async -> Bool
    ) async throws -> PushClientError? {
        let replyTopic = TopicName.partitioned(request.requester.publicKey).topic
        let start = wallClock.now().advanced(by: .zero - Self.clockTolerance)
        let elapsed = limitClock.stopwatch()
        func remaining(_ limit: Duration) -> Duration { min(limit, max(.zero, timeout + Self.maximumOverhead - elapsed())) }
        var reader = TopicReader(.asymmetric(request.requester))
        func goesOn(_ envelopes: [WakuEnvelope]) -> Bool {
            for envelope in envelopes {
                guard let message = reader.read(envelope, now: wallClock.now()), let answer = request.answer(in: message) else { continue }
                guard take(answer) else { return false }
            }
            return true
        }

        // The subscription precedes the request, so that a node that cannot receive fails before the request has an effect. If the history
        // contains a reply to an earlier copy, the request need not be published again.
        let inbox = try await subscribe(to: [replyTopic])
        let earlier = try await historyIfAvailable(of: [replyTopic], since: start, atMost: remaining(limits.history))
        guard goesOn(earlier ?? []) else { return nil }
        let failure = try await publishRequest(request.payloads, on: request.topic, atMost: remaining(limits.publishing))
        let deadline = clock.now.advanced(by: remaining(timeout))
        var rhythm = PollRhythm()
        while goesOn(try self.take(from: inbox)), await isWanted() {
            guard clock.now < deadline else {
                // A subscription may have missed the reply, for example while the node had no connection.
                let missed = try await historyIfAvailable(of: [replyTopic], since: start, atMost: remaining(limits.history))
                _ = goesOn(missed ?? [])
                break
            }
            try await wait(for: inbox, atMost: min(rhythm.next(), clock.now.duration(to: deadline)))
        }
        return failure
    }
}

extension NodeTransport {
    fileprivate func inbox(of topics: Set<Topic>, on pubsubTopic: String) async throws -> Inbox {
        try await Inbox(self, to: topics, on: pubsubTopic)
    }
}

extension PushClientError {
    /// Converts a transport's error: any except a ``PushClientError`` means that the node is unreachable.
    fileprivate init(ofTransport error: any Error) {
        self = error as? PushClientError ?? .nodeUnreachable(reason: Self.reason(of: error))
    }
}
