/// Notices when an implausible share of a route's devices is turned down for good: then it is a credential, an environment or a format
/// that is wrong, not the devices (GORUSH.md §6).
///
/// It judges by a sample: the newest verdict on each of the last hundred devices that have taken a push before. Anybody can register
/// tokens that never worked, so these count for nothing. Times are those of a monotonic clock, from its start.
struct InvalidTokenSurge: Sendable {
    static let sampleCount = 100
    /// A smaller sample is judged as if it had so many: with the default share ten devices are a surge, and what two or three old phones
    /// make is none.
    static let minimumSampleCount = 33
    /// What is older tells nothing of today. Pushes that wait for a surge to end are tried again well within that time.
    static let window = Duration.seconds(900)

    /// What gorush said of a push.
    struct Verdict: Sendable, Equatable {
        /// Made of the device token and the bundle id.
        var device: Int
        /// It can never be delivered.
        var isTurnedDown: Bool
        /// It has taken a push before, as the store knows.
        var hasWorked = false
    }

    private struct Entry {
        var device: Int
        var isTurnedDown: Bool
        var time: Duration
    }

    /// The share of the sample that makes a surge, above 0 and up to 1.
    let share: Double

    private var sample: [Entry] = []
    /// In this process; the store knows it of registrations, and of no others.
    private var worked = RecentDevices()
    private var hasBegun = false

    init(share: Double) {
        self.share = share
    }

    mutating func record(_ verdicts: [Verdict], at now: Duration) {
        for verdict in verdicts {
            let hasWorked = verdict.hasWorked || worked.contains(verdict.device)
            if !verdict.isTurnedDown { worked.insert(verdict.device) }
            guard hasWorked || !verdict.isTurnedDown else { continue }
            sample.removeAll { $0.device == verdict.device }
            sample.append(Entry(device: verdict.device, isTurnedDown: verdict.isTurnedDown, time: now))
            if sample.count > Self.sampleCount { sample.removeFirst() }
            hasBegun = isImplausible(at: now)
        }
    }

    /// Nothing waits for its end any more.
    mutating func end() {
        guard hasBegun else { return }
        sample.removeAll()
        hasBegun = false
    }

    /// Whether verdicts are not to be believed now.
    func isOn(at now: Duration) -> Bool {
        hasBegun && isImplausible(at: now)
    }

    private func isImplausible(at now: Duration) -> Bool {
        var (count, turnedDownCount) = (0, 0)
        for entry in sample where now - entry.time < Self.window {
            count += 1
            if entry.isTurnedDown { turnedDownCount += 1 }
        }
        // It ends when it has become half as bad, so that it does not come and go with each device.
        let factor = hasBegun ? 0.5 : 1
        return turnedDownCount > 0 && Double(turnedDownCount) >= factor * share * Double(max(count, Self.minimumSampleCount))
    }
}

extension InvalidTokenSurge.Verdict {
    init(_ token: TriedToken, isTurnedDown: Bool) {
        var hasher = Hasher()
        hasher.combine(token.text)
        hasher.combine(token.apnTopic)
        self.init(device: hasher.finalize(), isTurnedDown: isTurnedDown, hasWorked: token.hasWorked)
    }
}

/// The devices that were seen last, at least so many as a generation has.
private struct RecentDevices: Sendable {
    /// A megabyte; of more devices than that, some count as new again.
    private static let generationCount = 50_000

    private var young: Set<Int> = []
    private var old: Set<Int> = []

    func contains(_ device: Int) -> Bool { young.contains(device) || old.contains(device) }

    mutating func insert(_ device: Int) {
        young.insert(device)
        guard young.count >= Self.generationCount else { return }
        old = young
        young = []
    }
}
