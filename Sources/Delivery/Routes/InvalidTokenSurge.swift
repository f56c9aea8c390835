/// Notices when an implausible share of a route's pushes is turned down for good within a minute: then it is a credential, an
/// environment or a format that is wrong, not the devices (GORUSH.md §6).
///
/// Times are those of a monotonic clock, from its start.
struct InvalidTokenSurge: Sendable, Equatable {
    static let window = Duration.seconds(60)
    /// A surge is over when so long nothing looked like one: pushes that wait for its end are tried again well within that time.
    static let holdingTime = Duration.seconds(900)
    /// Fewer verdicts in a minute are no surge, whatever their share.
    static let minimumCount = 10

    /// How gorush judged pushes.
    struct Verdicts: Sendable, Equatable {
        var total = 0
        /// The part of `total` for which it said that they can never be delivered.
        var turnedDown = 0
    }

    /// The share of verdicts that makes a surge, above 0 and up to 1.
    let share: Double

    private struct Second: Equatable {
        var number: Int64
        var verdicts = Verdicts()
    }

    private var seconds: [Second] = []
    private var lastSeen: Duration?

    init(share: Double) {
        self.share = share
    }

    mutating func record(_ verdicts: Verdicts, at now: Duration) {
        guard verdicts != Verdicts() else { return }
        let number = now.components.seconds
        seconds.removeAll { $0.number <= number - Self.window.components.seconds }
        if seconds.last?.number != number { seconds.append(Second(number: number)) }
        seconds[seconds.count - 1].verdicts.add(verdicts)
        let sum = seconds.reduce(into: Verdicts()) { $0.add($1.verdicts) }
        // Once it is there, little is sent: then the share alone keeps it up.
        let minimum = isOn(at: now) ? 1 : Self.minimumCount
        if sum.turnedDown >= minimum, Double(sum.turnedDown) >= share * Double(sum.total) { lastSeen = now }
    }

    /// Whether verdicts are not to be believed now.
    func isOn(at now: Duration) -> Bool {
        lastSeen.map { now - $0 < Self.holdingTime } ?? false
    }
}

extension InvalidTokenSurge.Verdicts {
    fileprivate mutating func add(_ other: Self) {
        total += other.total
        turnedDown += other.turnedDown
    }
}
