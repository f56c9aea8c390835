/// How many recent devices Apple has called gone lately.
///
/// Times are monotonic and count from the delivery's start.
struct GoneDevices: Sendable {
    static let interval = Duration.seconds(600)

    /// By the minute, because a wave may take all devices.
    private var counts: [Int64: Int] = [:]

    mutating func add(at now: Duration) {
        counts = counts.filter { Self.isCurrent($0.key, at: now) }
        counts[Self.minute(now), default: 0] += 1
    }

    func count(at now: Duration) -> Int { counts.reduce(0) { $0 + (Self.isCurrent($1.key, at: now) ? $1.value : 0) } }

    private static func minute(_ time: Duration) -> Int64 { time.components.seconds / 60 }

    private static func isCurrent(_ minute: Int64, at now: Duration) -> Bool { .seconds(minute * 60) > now - interval }
}
