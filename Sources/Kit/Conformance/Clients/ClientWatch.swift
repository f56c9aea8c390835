package import Envelope
import WakuREST
import Wire

/// Reads what clients send at a node, and judges it. It publishes nothing.
package struct ClientWatch: Sendable {
    /// A node keeps some dozens of messages, and a client sends a few a second.
    private static let pollInterval = Duration.milliseconds(250)

    private let node: ConformanceNode
    private let clock: any Clock<Duration>
    private let wallClock: WallClock

    /// - Parameter node: A node that nobody else reads: each read empties its cache.
    package init(_ node: ConformanceNode, clock: any Clock<Duration> = ContinuousClock(), wallClock: WallClock = .system) {
        self.node = node
        self.clock = clock
        self.wallClock = wallClock
    }

    /// Judges what arrives within a time.
    ///
    /// - Parameter report: Called for each message as soon as it is judged.
    /// - Returns: All judged messages.
    /// - Throws: ``ConformanceRun/Failure``, or `CancellationError`.
    package func run(
        _ judge: ClientJudge, for time: Duration, reporting report: @Sendable (JudgedMessage) -> Void = { _ in }
    ) async throws -> [JudgedMessage] {
        var judge = judge
        var messages: [JudgedMessage] = []
        do {
            var remaining = time
            while true {
                // A node may list the newest one first, and versions rise with the time.
                for envelope in try await take().sorted(by: { $0.message.timestamp ?? 0 < $1.message.timestamp ?? 0 }) {
                    guard let message = judge.judge(envelope, now: wallClock.now()) else { continue }
                    messages.append(message)
                    report(message)
                }
                guard remaining > .zero else { return messages }
                let pause = min(remaining, Self.pollInterval)
                try await clock.sleep(for: pause)
                remaining -= pause
            }
        } catch let error as NodeError {
            throw ConformanceRun.Failure.nodeUnusable(error)
        }
    }

    private func take() async throws -> [WakuEnvelope] {
        try await node.retrying(clock) { [node] () async throws(NodeError) in
            if let envelopes = try await node.api.takeMessages(on: node.pubsubTopic) { return envelopes }
            try await node.api.subscribe(to: [node.pubsubTopic])
            return []
        }
    }
}
