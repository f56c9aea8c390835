/// Decides when a request body takes too long. Times are monotonic and count from the clock's start.
///
/// A short body may arrive at any speed. A long body holds more memory, so it has a minimum speed, which a server behind a slow line still
/// has.
struct BodyPace: Sendable {
    /// How long a short body, or what is left of a long body, may take.
    static let maximumDuration = Duration.seconds(60)
    /// The interval over which a long body's speed is measured.
    static let window = Duration.seconds(10)
    /// How many bytes of a long body must arrive in a window: 16 KiB a second.
    static let minimumByteCount = 10 * (16 << 10)

    private enum Phase {
        case short(end: Duration)
        case long(end: Duration, windowEnd: Duration, byteCount: Int)
        /// The body is complete, and the server lets it wait.
        case waiting
        case cutOff
    }

    private var phase: Phase

    init(at now: Duration) {
        phase = .short(end: now + Self.maximumDuration)
    }

    /// The time to call ``isTooSlow(at:)`` next, or nil while the server lets the body wait.
    var deadline: Duration? {
        switch phase {
        case .short(let end): end
        case .long(let end, let windowEnd, _): min(end, windowEnd)
        case .waiting: nil
        case .cutOff: .zero
        }
    }

    /// Whether the body takes memory that others need.
    var isCutOff: Bool {
        if case .cutOff = phase { true } else { false }
    }

    mutating func receive(_ byteCount: Int) {
        guard case .long(let end, let windowEnd, let received) = phase else { return }
        phase = .long(end: end, windowEnd: windowEnd, byteCount: received + byteCount)
    }

    /// Begins the first window, unless the body is long already.
    mutating func becomeLong(at now: Duration) {
        guard case .short = phase else { return }
        phase = .long(end: now + Self.maximumDuration, windowEnd: now + Self.window, byteCount: 0)
    }

    mutating func wait() {
        if !isCutOff { phase = .waiting }
    }

    mutating func cutOff() { phase = .cutOff }

    /// Returns whether the body is to be cut off. Begins a new window if the last window is over and was fast enough.
    mutating func isTooSlow(at now: Duration) -> Bool {
        switch phase {
        case .short(let end): return now >= end
        case .long(let end, let windowEnd, let byteCount):
            if now >= end { return true }
            guard now >= windowEnd else { return false }
            phase = .long(end: end, windowEnd: now + Self.window, byteCount: 0)
            return byteCount < Self.minimumByteCount
        case .waiting: return false
        case .cutOff: return true
        }
    }
}
