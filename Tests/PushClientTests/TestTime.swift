import Bytes
import Envelope
import PushClient
import StatusCrypto
import Synchronization
import TestSupport

let testTime = Timestamp(nanoseconds: 1_700_000_000_123_456_789)

/// A time that advances by sleeping, on both clocks. A client that waits without end fails instead of hanging.
///
/// With two concurrent clients, the sleep of one would delay the other. Use ``hold()`` then.
final class TestTime: Clock {
    typealias Instant = ManualClock.Instant

    private let clock = ManualClock()
    private let isHeld = Atomic(false)
    /// The messages on their way to subscribers.
    let deliveries = Deliveries()
    /// The clock of the limits of calls, which a test advances by hand.
    let limits = ManualClock()

    var now: Instant { clock.now }
    var minimumResolution: Duration { .zero }
    var wallClock: WallClock { WallClock { testTime.advanced(by: self.now.offset) } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        guard !isHeld.load(ordering: .relaxed) else { return try await clock.sleep(until: deadline, tolerance: nil) }
        try Task.checkCancellation()
        clock.advance(to: deadline)
        await deliveries.settle()
    }

    func advance(by duration: Duration) {
        clock.advance(by: duration)
        deliveries.start()
    }

    // MARK: Held

    /// Makes the time advance only by ``advance(by:)`` and ``pass(while:)``.
    func hold() { isHeld.store(true, ordering: .relaxed) }

    /// Waits until a task sleeps that is due after exactly this duration.
    func sleeper(dueIn duration: Duration) async { await clock.sleepers(dueIn: duration) }

    /// Advances the time to one sleeper's deadline after another while an operation is in progress.
    func pass<Result>(while waiting: () async throws -> Result) async rethrows -> Result {
        let passing = Task {
            while !Task.isCancelled {
                await clock.sleepers { !$0.isEmpty }
                if let first = clock.sleepers.first { clock.advance(by: first) }
                await deliveries.settle()
            }
        }
        defer { passing.cancel() }
        return try await waiting()
    }

    /// Returns a node on this time.
    func node(_ node: any FakeNode, segmenter: Segmenter = Segmenter()) -> Node {
        Node(
            transport: FakeTransport(node: node, time: self), pubsubTopic: FakeServer.pubsubTopic, segmenter: segmenter, clock: self,
            limitClock: limits, wallClock: wallClock)
    }
}

extension PrivateKey {
    /// Returns the key with a number, which is the same each time.
    static func test(_ number: UInt8) -> PrivateKey {
        var bytes = FixedBytes<32>()
        bytes[31] = number
        guard let key = try? PrivateKey(bytes) else { preconditionFailure("a small number above zero is a key") }
        return key
    }
}
