import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// The conclusions from a route's attempts: whether it delivers, and whether verdicts on devices are credible (DELIVERY.md, rules 2 and 3).
///
/// A target is proven if Apple or Google has accepted a push for it before. Anyone can register tokens and bundle ids that never existed,
/// so failed pushes make a route fail only if their targets are proven. A refusal of gorush itself counts with any target. Times are those
/// of a monotonic clock since the start, except those of ``Witnesses``.
struct Evidence: Sendable {
    /// The minimum time between the first and the last failed attempt of a route that fails: shorter faults pass by themselves.
    static let failureInterval = Duration.seconds(60)
    /// 5 s in which Apple or Google refuses gorush and accepts nothing. A single refusal between deliveries is no fault.
    static let refusalInterval = Duration.seconds(5)
    /// 15 min. Waiting pushes are attempted more often than that, so after such a silence no push waits for the route, and it no longer
    /// fails.
    static let validity = Duration.seconds(900)
    /// 1,000 bundle ids. A route has a handful of apps.
    private static let maximumTopicCount = 1_000

    /// Failed attempts since the last delivery.
    private struct Failures {
        var first: Duration
        var last: Duration
        var words: String
        /// The first target; nil for refusals of gorush itself, whose target does not matter.
        var target: Digest32?
        var hasSeveralTargets = false

        func isCurrent(at now: Duration) -> Bool { now - last < Evidence.validity }
    }

    private let provider: String
    private let configuredTopics: Set<String>
    /// The bundle ids that a push was ever delivered to; "" for Android.
    private(set) var deliveredBundleIDs: Set<String> = []
    /// The part of these that is stored.
    private(set) var savedTopics: Set<String> = []
    /// The number of pushes that were delivered since the start.
    private(set) var deliveryCount = 0
    /// The time of the newest delivery by the wall clock; nil before the first one since the start.
    private(set) var lastDelivery: Timestamp?
    /// The number of attempts since the start that gorush, Apple or Google did not accept, or left without a response.
    private(set) var failureCount = 0
    private(set) var witnesses = Witnesses()

    /// The failed attempts to proven targets, with any words.
    private var failures: Failures?
    /// The attempts at which Apple or Google refused gorush itself.
    private var refusals: Failures?
    private var refusedTopics: [String: (words: String, time: Duration)] = [:]
    /// The words of the last failed attempt to an unproven target.
    private var unprovenWords: String?
    /// The start of the first failure since the last delivery, gorush's own failures included.
    private var troubleBegan: Duration?

    init(platform: GorushPlatform, configuredTopics: Set<String>) {
        provider = platform == .ios ? "Apple" : "Google"
        self.configuredTopics = configuredTopics
    }

    // MARK: Events

    /// Records the outcome of an attempt.
    ///
    /// - Returns: Whether pushes that waited because of the route, or for a first delivery to the bundle id, are due now.
    mutating func record(_ attempt: Outbox.Attempt, at now: Duration) -> Bool {
        switch attempt.outcome {
        case .sent: return delivered(attempt, at: now)
        case .failed(let failure): failed(attempt.push, failure.words, failure.kind, at: now)
        case .refused(let reason), .unknown(let reason): failed(attempt.push, reason, nil, at: now)
        case .timedOut: failed(attempt.push, "no response in time", nil, at: now)
        case .notSent: break
        }
        return false
    }

    /// Records that gorush did not accept a request.
    mutating func gorushFailed(at now: Duration) { troubleBegan = troubleBegan ?? now }

    /// Records bundle ids that are stored, by this process or an earlier one.
    mutating func saved(_ topics: Set<String>) {
        savedTopics.formUnion(topics)
        deliveredBundleIDs.formUnion(topics)
    }

    private mutating func delivered(_ attempt: Outbox.Attempt, at now: Duration) -> Bool {
        let topic = attempt.topic
        let hadOutage = fails(at: now) || (troubleBegan.map { now - $0 >= Self.failureInterval } ?? false)
        deliveryCount += 1
        lastDelivery = attempt.at
        (failures, refusals, troubleBegan) = (nil, nil, nil)
        refusedTopics[topic] = nil
        if let provenAt = attempt.push.provenAt { witnesses.record(topic: topic, provenAt: provenAt, deliveredAt: attempt.at) }
        let isFirst = deliveredBundleIDs.count < Self.maximumTopicCount && deliveredBundleIDs.insert(topic).inserted
        // Pushes for Android wait for no bundle id.
        return hadOutage || (isFirst && !topic.isEmpty)
    }

    /// - Parameter kind: nil for attempts without a verdict of Apple or Google.
    private mutating func failed(_ push: QueuedPush, _ words: String, _ kind: FailureKind?, at now: Duration) {
        failureCount += 1
        if kind == .credentials { Self.add(words, to: &refusals, target: nil, at: now) }
        if kind == .topic, isKnown(push.push.apnTopic) { refusedTopics[push.push.apnTopic] = (words, now) }
        // Apple's 410 is its answer about one device.
        guard kind != .deadToken else { return }
        guard push.provenAt != nil else {
            if kind != nil { unprovenWords = words }
            return
        }
        troubleBegan = troubleBegan ?? now
        Self.add(words, to: &failures, target: push.targetDigest, at: now)
    }

    private static func add(_ words: String, to failures: inout Failures?, target: Digest32?, at now: Duration) {
        var sum = failures.flatMap { $0.isCurrent(at: now) ? $0 : nil } ?? Failures(first: now, last: now, words: words, target: target)
        sum.last = now
        sum.words = words
        if sum.target != target { sum.hasSeveralTargets = true }
        failures = sum
    }

    // MARK: Conclusions

    /// Whether Apple has to accept the bundle id: it is configured, or was delivered to.
    func isKnown(_ topic: String) -> Bool { configuredTopics.contains(topic) || deliveredBundleIDs.contains(topic) }

    /// Whether Apple or Google delivers nothing through the route.
    func fails(at now: Duration) -> Bool { issue(at: now) != nil }

    /// Whether Apple or Google rejects gorush itself.
    func refusesGorush(at now: Duration) -> Bool { refusal(at: now) != nil }

    /// Why the route fails, with the provider's last words; nil if it does not.
    func issue(at now: Duration) -> String? {
        if let refusal = refusal(at: now) { return "\(provider) rejects gorush's credentials: \(refusal)" }
        guard let failures, failures.hasSeveralTargets, failures.last - failures.first >= Self.failureInterval, failures.isCurrent(at: now)
        else { return nil }
        return "\(provider) delivers nothing, not even to devices that have worked: \(failures.words)"
    }

    /// The reasons about known bundle ids that Apple refuses.
    func topicIssues(at now: Duration) -> [String] {
        refusedTopics.filter { now - $0.value.time < Self.validity }.sorted { $0.key < $1.key }
            .map { "Apple rejects the bundle id \($0.key): \($0.value.words)" }
    }

    /// The warnings: a single proven device that gets no pushes, or a route that has never delivered.
    func warnings(at now: Duration) -> [String] {
        var warnings: [String] = []
        if let failures, !failures.hasSeveralTargets, failures.last - failures.first >= Self.failureInterval, failures.isCurrent(at: now) {
            warnings.append("the only device that was tried has worked and is not delivered to: \(failures.words)")
        }
        if let unprovenWords, deliveredBundleIDs.isEmpty {
            warnings.append("no push was ever delivered here, and all attempts were rejected: \(unprovenWords)")
        }
        return warnings
    }

    /// Returns the time at which a conclusion changes without another attempt; nil if none does.
    func nextChange(after now: Duration) -> Duration? {
        let ends = [
            refusals.map { $0.first + Self.refusalInterval }, refusals.map { $0.last + Self.validity },
            failures.map { $0.last + Self.validity },
        ]
        return ends.compactMap(\.self).filter { $0 > now }.min()
    }

    private func refusal(at now: Duration) -> String? {
        guard let refusals, now - refusals.first >= Self.refusalInterval, refusals.isCurrent(at: now) else { return nil }
        return refusals.words
    }
}

/// Deliveries that prove that a route worked at a time: pushes to devices that were proven before.
///
/// A verdict is believed if a device that was proven before the first verdict got a push after it (``confirm(topic:since:)``). Of two
/// deliveries to one bundle id the newer one proves more, unless its device was proven more recently, so few are kept. Times are those of
/// the wall clock, like those of stored suspicions.
struct Witnesses: Sendable, Equatable {
    /// 64 deliveries per bundle id. Without the oldest ones a verdict is believed later, never earlier.
    private static let maximumCount = 64

    private struct Delivery: Sendable, Equatable {
        var provenAt: Timestamp
        var deliveredAt: Timestamp
    }

    private var deliveries: [String: [Delivery]] = [:]

    mutating func record(topic: String, provenAt: Timestamp, deliveredAt: Timestamp) {
        while let last = deliveries[topic]?.last, last.provenAt >= provenAt, last.deliveredAt <= deliveredAt {
            deliveries[topic]?.removeLast()
        }
        deliveries[topic, default: []].append(Delivery(provenAt: provenAt, deliveredAt: deliveredAt))
        if let count = deliveries[topic]?.count, count > Self.maximumCount { deliveries[topic]?.removeFirst() }
    }

    /// Whether a device that was proven before a time got a push after it.
    func confirm(topic: String, since time: Timestamp) -> Bool {
        deliveries[topic]?.contains { $0.provenAt <= time && time < $0.deliveredAt } ?? false
    }
}
