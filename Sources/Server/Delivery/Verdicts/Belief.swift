import Bytes
import Envelope
import PushProtocol
import Store

/// What a route's attempts show (DELIVERY_RULES.md).
///
/// | seen | believed | done |
/// |---|---|---|
/// | for a minute no delivery, and failures of half of the recent devices | the route fails | not ready; a delivery ends their waits |
/// | credentials refused for 5 s, none accepted (``CredentialRefusals``) | gorush has wrong credentials | not ready |
/// | refusals that end soon, again and again (``Alternation``) | two gorush behind one address | a warning |
/// | a refusal beside a delivery elsewhere (``Witnesses``) | the refusal counts (``RefusalRules``) | after three over an hour it goes |
/// | three, and a tenth, of the recent devices are refused | the route may be at fault | no refusal counts; a warning |
/// | three, and a tenth, of the recent devices are gone within ten minutes | a fault at Apple, or in its words | a warning |
///
/// Times that are a `Duration` are monotonic and count from the delivery's start.
struct Belief: Sendable {
    /// Shorter faults pass by themselves.
    static let interval = Duration.seconds(60)
    /// Waiting pushes are attempted more often than that, so after such a silence no push waits for the condition.
    static let validity = Duration.seconds(900)
    /// The least number of devices that have to fail, because one or two may themselves be the fault.
    static let minimumDeviceCount = 3
    /// Refused or gone devices among the recent ones, as a part of them, from which on the words may be wrong.
    static let doubtfulShare = 10
    /// Devices in trouble beside deliveries, as a part of the recent ones, from which on an operator should know.
    static let troubledShare = 20
    /// A route has a handful of apps.
    private static let maximumTopicCount = 1_000
    /// Devices that are remembered as failed. With more, numbers in messages are lower bounds.
    private static let maximumDeviceCount = 100_000

    let provider: String
    private let configuredTopics: Set<String>
    /// The bundle ids that a push was ever delivered to. "" stands for Android.
    private(set) var deliveredBundleIDs: Set<String> = []
    /// The part of these that is stored.
    private(set) var savedTopics: Set<String> = []
    /// The number of pushes that were delivered since the start.
    private(set) var deliveryCount = 0
    /// The time of the newest delivery, or nil until something was delivered since the start.
    private(set) var lastDeliveryTime: Duration?
    /// When the route last delivered after it had failed: the devices that showed it are in trouble until their next attempts.
    private(set) var recoveredAt: Duration?
    /// The number of attempts since the start that gorush, Apple or Google did not accept, or left without a response.
    private(set) var failureCount = 0
    private(set) var witnesses = Witnesses()
    private(set) var recent: RecentDevices
    private(set) var refused = RefusedDevices()
    private(set) var gone = GoneDevices()
    private(set) var failures: Failures?
    private(set) var newFailures: Failures?
    private(set) var credentials = CredentialRefusals()
    private(set) var refusedTopics: [String: (words: String, time: Duration)] = [:]
    private(set) var tooLargeAt: Duration?
    /// The requests since gorush last took one that a proxy answered instead of it.
    private(set) var turnedAway: (first: Duration, last: Duration, status: Int)?

    /// The failures of devices since the newest delivery.
    struct Failures: Sendable {
        var first: Duration
        var last: Duration
        var words: String
        var devices: Set<DeviceCode> = []
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
        if !released.isEmpty { recoveredAt = now }
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
        refused.delivered(to: attempt.choice.device, token: attempt.push.targetDigest, at: now)
        (failures, newFailures) = (nil, nil)
        credentials.accepted(at: now)
        if deliveredBundleIDs.count < Self.maximumTopicCount { deliveredBundleIDs.insert(attempt.topic) }
        return released
    }

    /// Records a failed attempt.
    ///
    /// - Parameter troubleSince: When the device's trouble began.
    mutating func failed(_ attempt: PushAttempt, troubleSince: Duration, at now: Duration) {
        failureCount += 1
        let (words, push) = (attempt.outcome.wordsForOperator, attempt.push)
        if case .failed(let failure) = attempt.outcome {
            switch failure.kind {
            case .credentials: credentials.refused(words, at: now)
            case .topic where isKnown(push.push.apnTopic): refusedTopics[push.push.apnTopic] = (words, now)
            case .refusedDevice where attempt.isOfRecentDevice:
                refused.refused(attempt.choice.device, token: push.targetDigest, at: now)
            case .deadToken where attempt.isOfRecentDevice:
                gone.add(at: now)
                recent.forget(attempt.choice.device)
            default: break
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
    mutating func wasTurnedAway(status: Int, at now: Duration) { turnedAway = (turnedAway?.first ?? now, now, status) }

    private static func add(_ attempt: PushAttempt, _ words: String, to failures: inout Failures?, at now: Duration) {
        var new = failures ?? Failures(first: now, last: now, words: words)
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
            refused.forget(device)
            recent.forget(device)
        }
    }

    /// Records bundle ids that this process or an earlier process has stored.
    mutating func saved(_ topics: Set<String>) {
        savedTopics.formUnion(topics)
        deliveredBundleIDs.formUnion(topics)
    }

    /// Records devices that got a push in an earlier process, whose clock may have been ahead.
    mutating func restore(_ devices: [(device: DeviceCode, deliveredAt: Duration, isSuspected: Bool)], at now: Duration) {
        for (device, time, isSuspected) in devices {
            recent.record(device, at: min(time, now))
            if isSuspected { refused.restore(device) }
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
        let count = refusedRecentCount
        return count >= Self.minimumDeviceCount && Self.doubtfulShare * count >= recent.sample.count
    }

    /// How many of the sampled recent devices are refused.
    var refusedRecentCount: Int { recent.sample.count { refused.contains($0) } }
}
