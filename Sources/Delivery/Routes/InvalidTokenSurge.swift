/// Notices when an implausible share of a route's pushes is turned down for good within a minute: then it is a credential, an
/// environment or a format that is wrong, not the devices (GORUSH.md §6).
///
/// Times are those of a monotonic clock, from its start.
struct WaveDetector: Sendable, Equatable {
    static let window = Duration.seconds(60)
    /// A wave is over when so long nothing looked like one: pushes that wait for its end are tried again well within that time.
    static let holdingTime = Duration.seconds(900)
    /// Fewer verdicts in a minute are no wave, whatever their share.
    static let minimumCount = 10

    /// The share of verdicts that makes a wave, above 0 and up to 1.
    let share: Double

    private struct Second: Equatable {
        var number: Int64
        var total = 0
        var turnedDown = 0
    }

    private var seconds: [Second] = []
    private var lastSeen: Duration?

    init(share: Double) {
        self.share = share
    }

    /// Notes what became of pushes.
    ///
    /// - Parameter turnedDown: the part of `total` for which gorush said that it can never be delivered.
    mutating func record(total: Int, turnedDown: Int, at now: Duration) {
        let number = now.components.seconds
        seconds.removeAll { $0.number <= number - Self.window.components.seconds }
        if seconds.last?.number != number { seconds.append(Second(number: number)) }
        seconds[seconds.count - 1].total += total
        seconds[seconds.count - 1].turnedDown += turnedDown
        let sum = seconds.reduce(into: (total: 0, turnedDown: 0)) {
            $0.total += $1.total
            $0.turnedDown += $1.turnedDown
        }
        // Once it is there, little is sent: then the share alone keeps it up.
        let minimum = isWave(at: now) ? 1 : Self.minimumCount
        if sum.turnedDown >= minimum, Double(sum.turnedDown) >= share * Double(sum.total) { lastSeen = now }
    }

    /// Whether verdicts are not to be believed now.
    func isWave(at now: Duration) -> Bool {
        lastSeen.map { now - $0 < Self.holdingTime } ?? false
    }
}
