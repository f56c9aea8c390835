import Envelope
import Synchronization

/// A generator of rising timestamps in nanoseconds, each at or after the clock's time.
final class EnvelopeCounter: Sendable {
    private let clock: WallClock
    private let last = Mutex<Int64>(0)

    init(_ clock: WallClock) { self.clock = clock }

    func next() -> Int64 {
        let now = clock.now().nanoseconds
        return last.withLock { last in
            last = max(last + 1, now)
            return last
        }
    }
}
