/// Decides when a request body takes too long. Times are monotonic and count from the clock's start.
///
/// A short body may arrive at any speed. A long body holds memory and a slot that others wait for, so it has a minimum speed.
struct BodyPace: Sendable {
    /// How long a short body, or what is left of a long body, may take.
    static let maximumDuration = Duration.seconds(60)
    /// The interval over which a long body's speed is measured.
    static let window = Duration.seconds(10)
    /// How many bytes of a long body must arrive in a window: 16 KiB a second.
    static let minimumByteCount = 10 * (16 << 10)

    private enum Phase {
        case short(end: Duration)
        /// The body is now long, and the server does not read on until it is admitted.
        case waiting
        case long(end: Duration, windowEnd: Duration, byteCount: Int)
    }

    private var phase: Phase

    init(at now: Duration) {
        phase = .short(end: now + Self.maximumDuration)
    }

    /// The time to call ``isTooSlow(at:)`` next, or nil while the server itself does not read.
    var deadline: Duration? {
        switch phase {
        case .short(let end): end
        case .waiting: nil
        case .long(let end, let windowEnd, _): min(end, windowEnd)
        }
    }

    mutating func receive(_ byteCount: Int) {
        guard case .long(let end, let windowEnd, let received) = phase else { return }
        phase = .long(end: end, windowEnd: windowEnd, byteCount: received + byteCount)
    }

    mutating func wait() { phase = .waiting }

    mutating func admit(at now: Duration) {
        phase = .long(end: now + Self.maximumDuration, windowEnd: now + Self.window, byteCount: 0)
    }

    /// Returns whether the body is to be cut off. Begins a new window if the last window is over and was fast enough.
    mutating func isTooSlow(at now: Duration) -> Bool {
        switch phase {
        case .short(let end): return now >= end
        case .waiting: return false
        case .long(let end, let windowEnd, let byteCount):
            if now >= end { return true }
            guard now >= windowEnd else { return false }
            phase = .long(end: end, windowEnd: now + Self.window, byteCount: 0)
            return byteCount < Self.minimumByteCount
        }
    }
}
