import Bytes
import Envelope
import FoundationEssentials
import PushProtocol
import Store

/// What a route's attempts show (DELIVERY_RULES.md).
///
/// | seen | believed | done |
/// |---|---|---|
/// | for a minute no delivery, and failures of half of the recent devices | the route fails | not ready; a delivery ends their waits |
/// | credentials refused for 5 s, none accepted | gorush has wrong credentials | not ready |
/// | a refusal beside a delivery elsewhere (``Witnesses``) | the refusal counts (``RefusalRules``) | after three over an hour it goes |
/// | three, and a tenth, of the recent devices are refused | the route may be at fault | no refusal counts; a warning |
///
/// Times that are a `Duration` are monotonic and count from the delivery's start.
struct Belief: Sendable {
    /// Shorter faults pass by themselves.
    static let interval = Duration.seconds(60)
    /// A single refusal of gorush's credentials between acceptances is no fault.
    static let credentialsInterval = Duration.seconds(5)
    /// After so many changes between refused and accepted credentials, two gorush answer in turn, for as long as the interval.
    static let changeCountOfTwo = 4
    static let twoInterval = Duration.seconds(600)
    /// Waiting pushes are attempted more often than that, so after such a silence no push waits for the condition.
    static let validity = Duration.seconds(900)
    /// The least number of devices that have to fail, because one or two may themselves be the fault.
    static let minimumDeviceCount = 3
    /// Refused devices among the recent ones, as a part of them, from which on no refusal is believed.
    static let doubtfulShare = 10
    /// Devices that must be in trouble beside deliveries before an operator should know, unless a twentieth of the recent ones is more.
    static let troubledCount = 20
    static let troubledShare = 20
    /// A route has a handful of apps.
    private static let maximumTopicCount = 1_000
    /// Devices that are remembered as failed. With more, numbers in messages are lower bounds.
    private static let maximumDeviceCount = 100_000

    private let provider: String
    private let configuredTopics: Set<String>
    /// The bundle ids that a push was ever delivered to. "" stands for Android.
    private(set) var deliveredBundleIDs: Set<String> = []
    /// The part of these that is stored.
    private(set) var savedTopics: Set<String> = []
    /// The number of pushes that were delivered since the start.
    private(set) var deliveryCount = 0
    /// The time of the newest delivery, or nil until something was delivered since the start.
    private(set) var lastDeliveryTime: Duration?
    /// The number of attempts since the start that gorush, Apple or Google did not accept, or left without a response.
    private(set) var failureCount = 0
    private(set) var witnesses = Witnesses()
    private(set) var recent: RecentDevices
    /// The devices that are refused, whatever their refusals count.
    private var refused: Set<DeviceCode> = []
    private var failures: Failures?
    private var newFailures: Failures?
    private var credentials: Credentials?
    private var refusedTopics: [String: (words: String, time: Duration)] = [:]
    private var tooLargeAt: Duration?
    /// The requests since gorush last took one that a proxy answered instead of it.
    private var turnedAway: (first: Duration, firstAt: Timestamp, last: Duration, status: Int)?

    /// The failures of devices since the newest delivery.
    private struct Failures: Sendable {
        var first: Duration
        var firstAt: Timestamp
        var last: Duration
        var words: String
        var devices: Set<DeviceCode> = []
    }

    /// Refusals of gorush's credentials.
    private struct Credentials: Sendable {
        /// When the first of them came since credentials were last accepted.
        var first: Duration
        var last: Duration
        var words: String
        /// Whether credentials were accepted since the last one.
        var isAccepted = false
        /// How often refusals and acceptances have followed each other.
        var changeCount = 0
    }

    /// - Parameter key: A random number, by which the recent devices are sampled.
    init(platform: GorushPlatform, configuredTopics: Set<String>, key: UInt64) {
        provider = platform == .ios ? "Apple" : "Google"
        self.configuredTopics = configuredTopics
        recent = RecentDevices(key: key)
    }

    // MARK: Events

    /// Records a delivery.
    ///
    /// - Returns: If that ends a failure of the route, the devices that no longer wait for it.
    mutating func delivered(_ attempt: PushAttempt, at now: Duration) -> Set<DeviceCode> {
        let released = fails(at: now) ? failures?.devices ?? [] : []
        deliveryCount += 1
        lastDeliveryTime = now
        refusedTopics[attempt.topic] = nil
        if let provenAt = attempt.push.provenAt {
            witnesses.record(
                topic: attempt.topic, target: attempt.push.targetDigest, provenAt: provenAt, postedAt: attempt.postedAt,
                answeredAt: attempt.answeredAt)
        }
        recent.record(attempt.choice.device, at: now)
        recent.refresh(at: now)
        refused.remove(attempt.choice.device)
        (failures, newFailures) = (nil, nil)
        acceptCredentials()
        if deliveredBundleIDs.count < Self.maximumTopicCount { deliveredBundleIDs.insert(attempt.topic) }
        return released
    }

    /// Records that Apple or Google took gorush's credentials.
    private mutating func acceptCredentials() {
        guard let known = credentials, !known.isAccepted else { return }
        credentials?.isAccepted = true
        credentials?.changeCount += 1
    }

    private mutating func refuseCredentials(_ words: String, at now: Duration) {
        let known = credentials.flatMap { now - $0.last < Self.validity ? $0 : nil }
        var new = known ?? Credentials(first: now, last: now, words: words)
        if new.isAccepted {
            (new.first, new.isAccepted) = (now, false)
            new.changeCount += 1
        }
        (new.last, new.words) = (now, words)
        credentials = new
    }

    /// Records a failed attempt.
    ///
    /// - Parameter troubleSince: When the device's trouble began.
    mutating func failed(_ attempt: PushAttempt, troubleSince: Duration, at now: Duration) {
        failureCount += 1
        let (words, push) = (attempt.outcome.wordsForOperator, attempt.push)
        if case .failed(let failure) = attempt.outcome {
            if failure.kind == .credentials {
                refuseCredentials(words, at: now)
            } else if failure.kind == .topic, isKnown(push.push.apnTopic) {
                refusedTopics[push.push.apnTopic] = (words, now)
            } else if failure.kind == .refusedDevice, attempt.isOfRecentDevice, refused.count < Self.maximumDeviceCount {
                refused.insert(attempt.choice.device)
            }
        }
        if case .passing(.bodyTooLarge, _) = attempt.outcome {
            // The push is the trouble, and its device tells nothing.
            tooLargeAt = now
            return
        }
        guard attempt.isOfRecentDevice else {
            if push.provenAt == nil { Self.add(attempt, words, to: &newFailures, at: now) }
            return
        }
        if let lastDeliveryTime, troubleSince < lastDeliveryTime { return }
        Self.add(attempt, words, to: &failures, at: now)
        recent.refresh(at: now)
    }

    /// Records that gorush took a request.
    mutating func wasTaken() { turnedAway = nil }

    /// Records that a proxy answered a request instead of gorush, which is there.
    mutating func wasTurnedAway(_ attempt: PushAttempt, status: Int, at now: Duration) {
        turnedAway = (turnedAway?.first ?? now, turnedAway?.firstAt ?? attempt.at, now, status)
    }

    private static func add(_ attempt: PushAttempt, _ words: String, to failures: inout Failures?, at now: Duration) {
        var new = failures ?? Failures(first: now, firstAt: attempt.at, last: now, words: words)
        failures = nil
        (new.last, new.words) = (now, words)
        if new.devices.count < maximumDeviceCount { new.devices.insert(attempt.choice.device) }
        failures = new
    }

    /// Records that no push waits for a device any more, or that it was given up: its failures say nothing about the route.
    mutating func forget(_ device: DeviceCode, isDead: Bool = false) {
        if failures?.devices.remove(device) != nil, failures?.devices.isEmpty ?? false { failures = nil }
        if newFailures?.devices.remove(device) != nil, newFailures?.devices.isEmpty ?? false { newFailures = nil }
        if isDead {
            refused.remove(device)
            recent.forget(device)
        }
    }

    /// Records bundle ids that this process or an earlier process has stored.
    mutating func saved(_ topics: Set<String>) {
        savedTopics.formUnion(topics)
        deliveredBundleIDs.formUnion(topics)
    }

    /// Records devices that got a push in an earlier process.
    mutating func restore(_ devices: [(device: DeviceCode, deliveredAt: Duration, isSuspected: Bool)]) {
        for (device, time, isSuspected) in devices {
            recent.record(device, at: time)
            if isSuspected { refused.insert(device) }
        }
    }

    // MARK: Conclusions

    /// Whether Apple has to accept the bundle id: it is configured, or was delivered to.
    func isKnown(_ topic: String) -> Bool { configuredTopics.contains(topic) || deliveredBundleIDs.contains(topic) }

    /// Whether Apple or Google delivers nothing through the route.
    func fails(at now: Duration) -> Bool {
        guard let failures, now - failures.first >= Self.interval else { return false }
        return failures.devices.count >= max(Self.minimumDeviceCount, (recent.sample.count + 1) / 2)
    }

    /// Whether so many recent devices are refused that the route may be at fault, and no refusal counts.
    var isInDoubt: Bool {
        guard refused.count >= Self.minimumDeviceCount else { return false }
        let count = recent.sample.count { refused.contains($0) }
        return count >= Self.minimumDeviceCount && Self.doubtfulShare * count >= recent.sample.count
    }

    /// Whether Apple or Google rejects gorush's credentials and accepts none.
    func rejectsCredentials(at now: Duration) -> Bool {
        guard let credentials, !credentials.isAccepted, !isOfTwo(credentials, at: now) else { return false }
        return now - credentials.first >= Self.credentialsInterval && now - credentials.last < Self.validity
    }

    /// Whether credentials are refused and accepted in turn, as two gorush behind one address do of which one has a wrong key.
    private func isOfTwo(_ credentials: Credentials, at now: Duration) -> Bool {
        credentials.changeCount >= Self.changeCountOfTwo && now - credentials.last < Self.twoInterval
    }

    /// Why nothing is delivered, or nothing for a bundle id.
    func issues(at now: Duration) -> [RouteCondition] {
        var issues: [RouteCondition] = []
        if rejectsCredentials(at: now), let credentials {
            issues.append(RouteCondition(kind: .credentials, text: "\(provider) rejects gorush's credentials: \(credentials.words)"))
        } else if fails(at: now), let failures {
            let text = "\(provider) delivers nothing, not even to devices that have worked: \(failures.words)"
            issues.append(RouteCondition(kind: .failing, text: text))
        }
        let topics = refusedTopics.filter { now - $0.value.time < Self.validity }.sorted { $0.key < $1.key }
        return issues
            + topics.map { RouteCondition(kind: .bundleID($0.key), text: "Apple rejects the bundle id \($0.key): \($0.value.words)") }
    }

    /// The conditions that an operator should know about while the route does not fail.
    ///
    /// - Parameter troubledCount: How many devices that have worked have been in trouble for a minute.
    func warnings(at now: Duration, troubledCount: Int) -> [RouteCondition] {
        guard !fails(at: now), !rejectsCredentials(at: now) else { return [] }
        var warnings: [RouteCondition] = []
        func warn(_ kind: RouteCondition.Kind, _ text: String) { warnings.append(RouteCondition(kind: kind, text: text)) }
        if let credentials, isOfTwo(credentials, at: now) {
            warn(
                .twoGorush,
                "\(provider) refuses gorush's credentials and accepts them in turn: two gorush behind one address? \(credentials.words)")
        }
        if let turnedAway, now - turnedAway.first >= Self.interval, now - turnedAway.last < Self.validity {
            warn(
                .turnedAway,
                "gorush answers \(turnedAway.status) to pushes since \(turnedAway.firstAt.text), while its configuration can be read: a "
                    + "proxy in front of it does not pass them on")
        } else if let failures, isLong(failures, at: now) {
            warn(
                .nothingDelivered,
                "\(provider) has delivered nothing since \(failures.firstAt.text); \(counted(failures.devices.count, "device")) that "
                    + "worked before failed: \(failures.words)")
        } else if let newFailures, isLong(newFailures, at: now), newFailures.devices.count >= Self.minimumDeviceCount {
            warn(
                .newDevices,
                "\(provider) has delivered nothing since \(newFailures.firstAt.text) and refused \(newFailures.devices.count) devices that "
                    + "never worked: \(newFailures.words)")
        }
        if isInDoubt {
            let count = recent.sample.count { refused.contains($0) }
            warn(
                .doubt,
                "\(provider) refuses \(count) of \(recent.sample.count) devices that got a push in the last two days: a wrong project or "
                    + "environment looks like that; none of them is unregistered meanwhile")
        }
        // Counting the recent devices takes longer than everything else here.
        if troubledCount >= Self.troubledCount, troubledCount >= recent.count(at: now) / Self.troubledShare {
            warn(
                .manyInTrouble, "\(troubledCount) devices that worked before have got nothing for a minute or more, although others have")
        }
        if let tooLargeAt, now - tooLargeAt < Self.validity {
            warn(.tooLarge, "a proxy in front of gorush rejects a push as too large (413); allow bodies of 16 KB")
        }
        return warnings
    }

    private func isLong(_ failures: Failures, at now: Duration) -> Bool {
        now - failures.first >= Self.interval && now - failures.last < Self.validity
    }

    /// Returns the time at which a conclusion changes without another attempt, or nil if none does.
    func nextChange(after now: Duration) -> Duration? {
        var times: [Duration] = []
        for failures in [failures, newFailures].compactMap(\.self) {
            times += [failures.first + Self.interval, failures.last + Self.validity]
        }
        if let turnedAway { times += [turnedAway.first + Self.interval, turnedAway.last + Self.validity] }
        if let credentials { times += [credentials.first + Self.credentialsInterval, credentials.last + Self.validity] }
        return times.filter { $0 > now }.min()
    }
}

extension Timestamp {
    /// The time in UTC to the second, for operators.
    var text: String { Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).formatted(.iso8601) }
}

/// Returns a number with a noun.
func counted(_ count: Int, _ noun: String, _ plural: String = "s") -> String { "\(count) \(noun)\(count == 1 ? "" : plural)" }
