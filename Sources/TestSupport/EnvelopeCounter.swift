import Synchronization

/// Timestamps that rise: nanoseconds, from a fixed date on.
final class EnvelopeCounter: Sendable {
    private let last = Atomic<Int64>(1_700_000_000_000_000_000)

    func next() -> Int64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
