import Bytes
package import Envelope
package import PushClient
package import StatusCrypto
import Synchronization

/// A clock for tests, whose time advances whenever somebody sleeps, so that a test finishes immediately where its app would take minutes.
///
/// A client's `run()` sleeps all the time, so hold the clock before you start it:
///
///     network.clock.hold()
///     let running = Task { await client.run() }
///     await network.clock.pass { await network.servers[0].waitForRegistrations(count: 1) }
///
/// A call of a client, unlike its `run()`, throws ``TimeStandsStill`` if it waits for a held clock and nobody lets the time pass.
public final class TestClock: Clock {
    /// A time on the clock.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public let offset: Duration

        /// Returns the time after a duration.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the duration until another time.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether a time is before another.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    /// The date when the clock is created.
    package static let start = Timestamp(nanoseconds: 1_700_000_000_123_456_789)

    private let clock = HeldClock()
    private let isHeld = Atomic(false)
    /// The messages on their way to subscribers.
    package let deliveries = Deliveries()
    /// The clock for call limits, which stands still. Otherwise a limit would be exceeded while the call runs.
    package let limits = HeldClock()

    /// Measures how long nobody lets the time pass.
    private let patience: any Clock<Duration>

    /// Creates a clock.
    public convenience init() {
        self.init(patience: ContinuousClock())
    }

    package init(patience: any Clock<Duration>) {
        self.patience = patience
    }

    /// The present time.
    public var now: Instant { clock.now }
    /// Zero, because the clock advances exactly to each deadline.
    public var minimumResolution: Duration { .zero }
    /// The date that goes with the time.
    package var wallClock: WallClock { WallClock { Self.start.advanced(by: self.now.offset) } }

    /// Advances the time to the deadline, and returns when all that was published is delivered.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        guard !isHeld.load(ordering: .relaxed) else { return try await clock.sleep(until: deadline, tolerance: nil) }
        try Task.checkCancellation()
        clock.advance(to: deadline)
        await deliveries.settle()
    }

    /// Advances the time by a duration.
    public func advance(by duration: Duration) {
        clock.advance(by: duration)
        deliveries.start()
    }

    // MARK: Holding

    /// Makes the time advance only by ``advance(by:)`` and ``pass(while:)``.
    public func hold() {
        clock.setReleased(false)
        isHeld.store(true, ordering: .relaxed)
    }

    /// Makes the time advance by itself again, also for those who wait now. End a `run()` before: it waits all the time.
    public func release() {
        isHeld.store(false, ordering: .relaxed)
        clock.setReleased(true)
        deliveries.start()
    }

    /// How long a call waits while nobody lets the held time pass: longer than a busy machine takes from one step of a test to the next.
    package static let patience = Duration.seconds(10)

    /// Ends a client's call when the time has stood still for ten seconds of real time.
    private func watch(_ call: String) async throws {
        while true {
            let before = now
            try await patience.sleep(for: Self.patience)
            guard isHeld.load(ordering: .relaxed), now == before, clock.hasSleepers else { continue }
            throw TimeStandsStill(call: call)
        }
    }

    /// Waits until a task sleeps that is due after exactly this duration.
    package func sleeper(dueIn duration: Duration) async { await clock.sleepers(dueIn: duration) }

    /// Advances the time from deadline to deadline, as sleepers wait for them, while an operation is in progress.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor, on which the operation begins.
    ///   - operation: The operation.
    /// - Returns: The operation's result.
    public func pass<Result>(
        isolation: isolated (any Actor)? = #isolation, while operation: () async throws -> Result
    ) async rethrows -> Result {
        let passing = Task {
            while !Task.isCancelled {
                guard let first = await clock.firstDeadline() else { return }
                clock.advance(to: first)
                await deliveries.settle()
            }
        }
        defer { passing.cancel() }
        return try await operation()
    }

    /// Advances a held time by a duration, from deadline to deadline. Each time somebody has to sleep, so that the time does not outrun a
    /// client's `run()`, which sleeps at most an hour.
    package func pass(for duration: Duration) async {
        let end = now.advanced(by: duration)
        while let first = await clock.firstDeadline(), first < end {
            clock.advance(to: first)
            await deliveries.settle()
        }
        clock.advance(to: end)
        await deliveries.settle()
    }

    /// Returns a node on this clock.
    package func node(_ node: any FakeNode, segmenter: Segmenter = Segmenter()) -> Node {
        Node(
            transport: FakeTransport(node: node, time: self), pubsubTopic: FakeServer.pubsubTopic, segmenter: segmenter, clock: self,
            limitClock: limits, wallClock: wallClock, watch: watch)
    }
}

/// A call waits for a held clock, and for ten seconds of real time nobody has let the time pass.
public struct TimeStandsStill: Error, Hashable, CustomStringConvertible {
    /// The function's name.
    public let call: String

    /// What to do.
    public var description: String {
        "\(call) waits for a held clock, whose time nobody lets pass. Call it inside clock.pass { … }, or call clock.release() before."
    }
}

extension PrivateKey {
    /// Returns the key with a number, which is the same each time.
    package static func test(_ number: UInt8) -> PrivateKey {
        var bytes = FixedBytes<32>()
        bytes[31] = number
        guard let key = try? PrivateKey(bytes) else { preconditionFailure("a small number above zero is a key") }
        return key
    }
}
