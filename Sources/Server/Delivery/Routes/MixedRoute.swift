import Bytes

/// Whether a route's words about devices contradict its deliveries (DELIVERY.md, rule 3).
///
/// A device that is refused and then takes the same push is alive. If that happens to several devices, two gorush with different projects
/// or environments stand behind the same address, and chance decides which of them responds. Times are monotonic and count from the
/// delivery's start.
struct MixedRoute: Sendable {
    static let requiredDeviceCount = 3
    /// The minimum time between the first and the last contradiction: a short fault of Apple or Google refuses many devices as well.
    static let requiredInterval = Duration.seconds(60)
    /// How long a contradiction matters, and how long a mixed route stays mixed.
    static let validity = Duration.seconds(3_600)
    /// More pushes are not remembered, because these suffice.
    private static let maximumCount = 10_000

    /// The pushes to proven devices whose refusal had a witness, with its time.
    private var refused: [Int64: Duration] = [:]
    /// Each device's newest contradiction, ordered by time.
    private var contradictions: [(target: Digest32, time: Duration)] = []
    private var end: Duration?

    /// Records a refusal with a witness, of a push to a proven device.
    mutating func recordRefusal(of push: Int64, at now: Duration) {
        if refused.count >= Self.maximumCount { refused = refused.filter { now - $0.value < Self.validity } }
        if refused.count < Self.maximumCount { refused[push] = now }
    }

    /// Records that a push was delivered, or finished in another way (nil).
    mutating func recordEnd(of push: Int64, deliveredTo target: @autoclosure () -> Digest32?, at now: Duration) {
        guard !refused.isEmpty, refused.removeValue(forKey: push) != nil, let target = target() else { return }
        contradictions.removeAll { $0.target == target && now - $0.time < Self.requiredInterval || now - $0.time >= Self.validity }
        contradictions.append((target, now))
        if contradictions.count > Self.maximumCount { contradictions.removeFirst() }
        guard let first = contradictions.first, now - first.time >= Self.requiredInterval,
            Set(contradictions.map(\.target)).count >= Self.requiredDeviceCount
        else { return }
        end = now + Self.validity
    }

    func isMixed(at now: Duration) -> Bool { end.map { now < $0 } ?? false }

    /// The time at which the route is no longer mixed.
    var nextChange: Duration? { end }
}
