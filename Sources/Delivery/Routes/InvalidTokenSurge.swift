/// Notices when an implausible share of a route's devices is turned down for good: then it is a credential, an environment or a format
/// that is wrong, not the devices (GORUSH.md §6).
///
/// It judges by a sample: the newest verdict on each of the last hundred devices. Anybody can register tokens that never worked, so a
/// device that has taken a push before weighs more, and without such devices nobody is alarmed. Times are those of a monotonic clock,
/// from its start.
struct InvalidTokenSurge: Sendable {
    static let sampleCount = 100
    /// What is older tells nothing of today. Pushes that wait for a surge to end are tried again well within that time.
    static let window = Duration.seconds(900)
    /// Of a device that has taken a push before: ten of them weigh as much as thirty that are new.
    static let workedWeight = 3

    /// What gorush said of a push.
    struct Verdict: Sendable, Equatable {
        /// Made of the device token.
        var device: Int
        /// It can never be delivered.
        var isTurnedDown: Bool
        /// The success is one of Apple's or Google's, not just of gorush's queue.
        var isProof = true
    }

    private struct Entry {
        var device: Int
        var isTurnedDown: Bool
        var hasWorked: Bool
        var time: Duration

        var weight: Int { hasWorked ? InvalidTokenSurge.workedWeight : 1 }
    }

    /// The share of the sample that makes a surge, above 0 and up to 1.
    let share: Double

    private var sample: [Entry] = []
    private var worked = RecentDevices()
    private var hasBegun = false

    init(share: Double) {
        self.share = share
    }

    mutating func record(_ verdicts: [Verdict], at now: Duration) {
        for verdict in verdicts {
            sample.removeAll { $0.device == verdict.device }
            let hasWorked = worked.contains(verdict.device)
            sample.append(Entry(device: verdict.device, isTurnedDown: verdict.isTurnedDown, hasWorked: hasWorked, time: now))
            if sample.count > Self.sampleCount { sample.removeFirst() }
            if !verdict.isTurnedDown, verdict.isProof { worked.insert(verdict.device) }
            hasBegun = isImplausible(weights(at: now))
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
        hasBegun && isImplausible(weights(at: now))
    }

    private func isImplausible(_ weights: Weights) -> Bool {
        // It ends when it has become half as bad, so that it does not come and go with each device.
        let factor = hasBegun ? 0.5 : 1
        return weights.turnedDown > 0 && Double(weights.turnedDown) >= factor * share * Double(max(weights.total, Self.sampleCount))
    }

    /// Whether it is one of devices that are known to have worked: strangers cannot have made that.
    func isOfWorkingDevices(at now: Duration) -> Bool {
        guard isOn(at: now) else { return false }
        let weights = weights(at: now)
        return 2 * weights.turnedDownThatWorked >= weights.turnedDown
    }

    private struct Weights {
        var total = 0
        var turnedDown = 0
        var turnedDownThatWorked = 0
    }

    private func weights(at now: Duration) -> Weights {
        sample.reduce(into: Weights()) { weights, entry in
            guard now - entry.time < Self.window else { return }
            weights.total += entry.weight
            guard entry.isTurnedDown else { return }
            weights.turnedDown += entry.weight
            if entry.hasWorked { weights.turnedDownThatWorked += entry.weight }
        }
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
