import Bytes
import Envelope
import PushProtocol
import Tasks

/// Whether a route works (DELIVERY.md, rule 4). It fails if attempts to enough devices have failed for long enough without a delivery.
///
/// Anyone can register tokens that never existed, so only devices that have worked count. Words about gorush itself count with any device,
/// because no registration can cause them. Times are monotonic and count from the delivery's start.
struct RouteFailure: Sendable {
    /// Shorter faults pass by themselves.
    static let interval = Duration.seconds(60)
    /// A single refusal of gorush's credentials between deliveries is no fault.
    static let credentialsInterval = Duration.seconds(5)
    /// Waiting pushes are attempted more often than that, so after such a silence no push waits for the route, and it no longer fails.
    static let validity = Duration.seconds(900)
    /// No operator and no untrusted client uninstalls an app from so many devices at the same time.
    static let deviceCount = 20
    /// At least so many devices have to fail, because a single device may itself be the fault.
    static let minimumDeviceCount = 2
    /// How long a device that got a push counts as recent. Half of the recent devices have to fail.
    static let recentInterval = Duration.seconds(48 * 3_600)
    /// How many failed pushes are remembered. With more, numbers in messages are lower bounds.
    private static let maximumPushCount = 10_000

    /// Failed attempts since the last delivery.
    private struct Row {
        var first: Duration
        var last: Duration
        var firstAt: Timestamp
        var words: String
        /// The pushes that failed, with their devices.
        var pushes: [Int64: Digest32] = [:]
        var devices: Set<Digest32> = []
        /// Whether all of them were quotas, which may be device quotas.
        var hasOnlyQuotas = true

        func isCurrent(at now: Duration) -> Bool { now - last < RouteFailure.validity }
    }

    private var failures: Row?
    private var credentials: Row?
    /// The time of the first attempt since the last delivery that gorush itself did not take.
    private var gorushFailedAt: Duration?
    private(set) var devices = RecentDevices()
    private var pace = Pace()

    // MARK: Events

    /// Records a failed attempt to a device that has worked.
    ///
    /// - Parameter isQuota: Whether Google limits the device or the project. A single device may have used up its own.
    mutating func recordFailure(
        of push: Int64, to target: Digest32, words: String, isQuota: Bool = false, at now: Duration, wallTime: Timestamp
    ) {
        Self.add(words, to: &failures, at: now, wallTime: wallTime)
        if !isQuota { failures?.hasOnlyQuotas = false }
        guard let count = failures?.pushes.count, count < Self.maximumPushCount else { return }
        failures?.pushes[push] = target
        failures?.devices.insert(target)
    }

    /// Records that Apple or Google rejected gorush itself.
    mutating func recordCredentialsFailure(words: String, at now: Duration, wallTime: Timestamp) {
        Self.add(words, to: &credentials, at: now, wallTime: wallTime)
    }

    /// Records that gorush did not take a request.
    mutating func recordGorushFailure(at now: Duration) { gorushFailedAt = gorushFailedAt ?? now }

    /// Records a delivery to a device, which ends the failure.
    ///
    /// - Returns: Whether pushes have waited because of the route.
    mutating func recordDelivery(to device: Installation, at now: Duration) -> Bool {
        let hadOutage = fails(at: now) || [failures?.first, gorushFailedAt].contains { $0.map { now - $0 >= Self.interval } ?? false }
        (failures, credentials, gorushFailedAt) = (nil, nil, nil)
        pace = Pace()
        devices.record(device, at: now)
        return hadOutage
    }

    /// Records that a device was unregistered: its failures say nothing about the route.
    mutating func forget(_ target: Digest32) {
        guard var row = failures, row.devices.remove(target) != nil else { return }
        row.pushes = row.pushes.filter { $0.value != target }
        failures = row.devices.isEmpty ? nil : row
    }

    /// Adds devices that got a push before the start.
    mutating func restore(_ earlier: [Installation: Duration]) { for (device, time) in earlier { devices.record(device, at: time) } }

    private static func add(_ words: String, to row: inout Row?, at now: Duration, wallTime: Timestamp) {
        var new = row.flatMap { $0.isCurrent(at: now) ? $0 : nil } ?? Row(first: now, last: now, firstAt: wallTime, words: words)
        row = nil
        new.last = now
        new.words = words
        row = new
    }

    // MARK: Conclusions

    /// Whether nothing is delivered.
    func fails(at now: Duration) -> Bool { rejectsGorush(at: now) || failureRow(at: now) != nil }

    /// Whether Apple or Google rejects gorush itself.
    func rejectsGorush(at now: Duration) -> Bool { credentialsRow(at: now) != nil }

    /// Why the route fails, with the provider's last words, or nil if it doesn't.
    func issue(of provider: String, at now: Duration) -> String? {
        if let row = credentialsRow(at: now) { return "\(provider) rejects gorush's credentials: \(row.words)" }
        return failureRow(at: now).map { "\(provider) delivers nothing, not even to devices that have worked: \($0.words)" }
    }

    /// A warning about failures that are too few for an issue, or nil if there are none.
    func warning(of provider: String, at now: Duration) -> String? {
        guard let failures, isLong(failures, at: now), failures.devices.count > 1 || !failures.hasOnlyQuotas else { return nil }
        return """
            \(provider) has delivered nothing since \(failures.firstAt.text): \
            \(counted(failures.pushes.count, "push", "es")) to \(counted(failures.devices.count, "device")) failed: \(failures.words)
            """
    }

    /// Returns the time at which a conclusion changes without another attempt, or nil if none does.
    func nextChange(after now: Duration) -> Duration? {
        guard failures != nil || credentials != nil else { return nil }
        let rows = [credentials.map { ($0, Self.credentialsInterval) }, failures.map { ($0, Self.interval) }].compactMap(\.self)
        return rows.flatMap { [$0.first + $1, $0.last + Self.validity] }.filter { $0 > now }.min()
    }

    /// How many devices have to fail.
    func requiredDeviceCount(at now: Duration) -> Int {
        min(Self.deviceCount, max(Self.minimumDeviceCount, (devices.count(at: now) + 1) / 2))
    }

    private func isLong(_ row: Row, at now: Duration) -> Bool { now - row.first >= Self.interval && row.isCurrent(at: now) }

    private func failureRow(at now: Duration) -> Row? {
        failures.flatMap { isLong($0, at: now) && $0.devices.count >= requiredDeviceCount(at: now) ? $0 : nil }
    }

    private func credentialsRow(at now: Duration) -> Row? {
        credentials.flatMap { now - $0.first >= Self.credentialsInterval && $0.isCurrent(at: now) ? $0 : nil }
    }

    // MARK: Attempts while the route fails

    /// Whether the device has failed since the last delivery.
    func hasFailed(_ target: Digest32) -> Bool { failures?.devices.contains(target) ?? false }

    /// When the next attempt may be made, or nil if it may be made now. Doesn't apply to a device that has worked and not failed since.
    func nextAttempt(at now: Duration) -> Duration? { fails(at: now) ? pace.next(at: now) : nil }

    /// Records the response to an attempt that delivered nothing.
    mutating func recordResponse(jitter: Double, at now: Duration) {
        if fails(at: now) { pace.recordResponse(jitter: jitter, at: now) }
    }
}

/// The delays between attempts on a failing route.
private struct Pace: Sendable {
    private var count = 0
    private var end = Duration.zero

    func next(at now: Duration) -> Duration? { end > now ? end : nil }

    mutating func recordResponse(jitter: Double, at now: Duration) {
        count += 1
        end = now + BackOff.failingRoute.delay(afterFailures: count, jitter: jitter)
    }
}

extension BackOff {
    /// An outage may take hours, and its end is noticed within half a minute, or with the next push for another device.
    static let failingRoute = BackOff(first: .milliseconds(500), longest: .seconds(30), minimumShare: 0.5)
}

/// Devices that got a push lately, as many as the rule about a failing route needs.
struct RecentDevices: Sendable {
    /// Twice ``RouteFailure/deviceCount``: with more, the same number has to fail.
    static let maximumCount = 2 * RouteFailure.deviceCount
    /// A device is recorded again after that time.
    private static let precision = Duration.seconds(3_600)

    private var times: [Installation: Duration] = [:]

    mutating func record(_ device: Installation, at now: Duration) {
        if let time = times[device] {
            if now - time >= Self.precision { times[device] = now }
        } else if times.count < Self.maximumCount {
            times[device] = now
        } else if let oldest = times.min(by: { $0.value < $1.value }), now - oldest.value >= Self.precision {
            times[oldest.key] = nil
            times[device] = now
        }
    }

    func count(at now: Duration) -> Int { times.values.count { now - $0 < RouteFailure.recentInterval } }
}

/// Returns a number with a noun.
func counted(_ count: Int, _ noun: String, _ plural: String = "s") -> String { "\(count) \(noun)\(count == 1 ? "" : plural)" }
