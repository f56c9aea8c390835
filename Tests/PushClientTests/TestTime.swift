import Envelope
import PushClient
import StatusCrypto
import Synchronization

let testTime = Timestamp(nanoseconds: 1_700_000_000_123_456_789)

/// Time in which sleeping is what makes it pass, on both clocks: a client that waits for ever fails instead of hanging.
final class TestTime: Clock {
    typealias Instant = ContinuousClock.Instant

    private let start = ContinuousClock.now
    private let elapsed = Mutex(Duration.zero)

    var now: Instant { start.advanced(by: elapsed.withLock { $0 }) }
    var minimumResolution: Duration { .zero }
    var wallClock: WallClock { WallClock { testTime.advanced(by: self.elapsed.withLock { $0 }) } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        elapsed.withLock { $0 = max($0, start.duration(to: deadline)) }
        await Task.yield()
    }

    func advance(by duration: Duration) {
        elapsed.withLock { $0 += duration }
    }

    /// A node on this time.
    func node(_ node: any MessageNode, segmenter: Segmenter = Segmenter()) -> Node {
        Node(node, pubsubTopic: FakeServer.pubsubTopic, segmenter: segmenter, clock: self, wallClock: wallClock)
    }
}

extension PrivateKey {
    /// A key by number, the same each time.
    static func test(_ number: UInt8) -> PrivateKey {
        var bytes = FixedBytes<32>()
        bytes[31] = number
        guard let key = try? PrivateKey(bytes) else { preconditionFailure("a small number above zero is a key") }
        return key
    }
}
