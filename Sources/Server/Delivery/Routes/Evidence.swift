import Bytes
import Envelope
import FoundationEssentials
import PushProtocol
import Store

/// What a route's attempts show: whether it delivers, which refusals say something, and which bundle ids work (DELIVERY.md).
///
/// Times that are a `Duration` are monotonic and count from the delivery's start.
struct Evidence: Sendable {
    /// A route has a handful of apps.
    private static let maximumTopicCount = 1_000

    private let provider: String
    private let configuredTopics: Set<String>
    /// The bundle ids that a push was ever delivered to. "" stands for Android.
    private(set) var deliveredBundleIDs: Set<String> = []
    /// The part of these that is stored.
    private(set) var savedTopics: Set<String> = []
    /// The number of pushes that were delivered since the start.
    private(set) var deliveryCount = 0
    /// The time of the newest delivery, by the wall clock. Nil until something was delivered since the start.
    private(set) var lastDelivery: Timestamp?
    /// The number of attempts since the start that gorush, Apple or Google did not accept, or left without a response.
    private(set) var failureCount = 0
    private(set) var witnesses = Witnesses()
    private(set) var failure = RouteFailure()
    private(set) var mixed = MixedRoute()
    private var unwitnessed = UnwitnessedRefusals()
    private(set) var inFlight = TargetsInFlight()
    /// When a delivery last ended an outage, by ``SteadyTime``. A device that was refused before may be tried immediately.
    private(set) var releasedAt: Timestamp?
    private var refusedTopics: [String: (words: String, time: Duration)] = [:]
    /// What Apple or Google said to the last failed attempt to an unproven target.
    private var unprovenWords: String?

    init(platform: GorushPlatform, configuredTopics: Set<String>) {
        provider = platform == .ios ? "Apple" : "Google"
        self.configuredTopics = configuredTopics
    }

    // MARK: Events

    /// Records an attempt's outcome, which is void if a delivery to the same device has overtaken it.
    ///
    /// - Returns: Whether pushes that waited because of the route, or for a first delivery to the bundle id, are due now.
    mutating func record(_ attempt: inout PushAttempt, at now: Duration) -> Bool {
        let end = inFlight.end(attempt)
        attempt.isVoid = end.isOvertaken
        attempt.maySuspect = end.wasRefused
        switch attempt.outcome {
        case .sent: return delivered(attempt, at: now)
        case .failed(let failure): failed(attempt, failure.words, failure.kind, at: now)
        case .unknown(let reason): failed(attempt, reason.rawValue, nil, at: now)
        case .timedOut: failed(attempt, PushReason.noResponseInTime.rawValue, nil, at: now)
        case .notSent: break
        }
        return false
    }

    /// Records that a push is posted to a device.
    mutating func posted(to target: Digest32) { inFlight.begin(target) }

    /// Records that gorush did not accept a request.
    mutating func gorushFailed(at now: Duration) { failure.recordGorushFailure(at: now) }

    /// Records that a failing route responded to an attempt.
    mutating func responded(jitter: Double, at now: Duration) { failure.recordResponse(jitter: jitter, at: now) }

    /// Records bundle ids that this process or an earlier process has stored.
    mutating func saved(_ topics: Set<String>) {
        savedTopics.formUnion(topics)
        deliveredBundleIDs.formUnion(topics)
    }

    /// Records devices that got a push in an earlier process.
    mutating func restore(_ devices: [Installation: Duration]) { failure.restore(devices) }

    /// Records the decision about an attempt.
    mutating func decided(_ decision: PushDecision, about attempt: PushAttempt, at now: Duration) {
        let push = attempt.push
        if case .finish(let outcome) = decision.disposition {
            let isAlive = outcome == .sent && push.provenAt != nil
            mixed.recordEnd(of: push.id, deliveredTo: isAlive ? push.targetDigest : nil, at: now)
            unwitnessed.forget(push.targetDigest)
            if outcome == .deadToken { failure.forget(push.targetDigest) }
        } else if let judgement = decision.judgement, push.provenAt != nil, case .failed(let failure) = attempt.outcome {
            if !judgement.hasWitness {
                let age = judgement.since.duration(to: attempt.answeredAt)
                guard age >= UnwitnessedRefusals.interval else { return }
                unwitnessed.record(push: push.id, to: push.targetDigest, since: judgement.since, words: failure.words, at: now)
            } else {
                unwitnessed.forget(push.targetDigest)
                if failure.kind == .refusedDevice { mixed.recordRefusal(of: push.id, at: now) }
            }
        }
    }

    private mutating func delivered(_ attempt: PushAttempt, at now: Duration) -> Bool {
        let (topic, target) = (attempt.topic, attempt.push.targetDigest)
        deliveryCount += 1
        lastDelivery = attempt.at
        refusedTopics[topic] = nil
        if let provenAt = attempt.push.provenAt {
            witnesses.record(
                topic: topic, target: target, provenAt: provenAt, postedAt: attempt.postedAt, answeredAt: attempt.answeredAt)
        }
        let hadOutage = failure.recordDelivery(to: attempt.push.push.target, at: now)
        if hadOutage {
            releasedAt = attempt.answeredAt
            // Their devices are tried again now.
            unwitnessed = UnwitnessedRefusals()
        }
        let isFirst = deliveredBundleIDs.count < Self.maximumTopicCount && deliveredBundleIDs.insert(topic).inserted
        // Pushes for Android wait for no bundle id.
        return hadOutage || (isFirst && !topic.isEmpty)
    }

    /// - Parameter kind: Nil for attempts to which Apple and Google said nothing.
    private mutating func failed(_ attempt: PushAttempt, _ words: String, _ kind: FailureKind?, at now: Duration) {
        let push = attempt.push
        failureCount += 1
        if kind == .credentials { failure.recordCredentialsFailure(words: words, at: now, wallTime: attempt.at) }
        if kind == .topic, isKnown(push.push.apnTopic) { refusedTopics[push.push.apnTopic] = (words, now) }
        // Both concern a single device.
        guard kind != .deadToken, kind != .deviceQuota else { return }
        guard push.provenAt != nil else {
            if kind != nil { unprovenWords = words }
            return
        }
        failure.recordFailure(
            of: push.id, to: push.targetDigest, words: words, isQuota: kind == .quota, at: now, wallTime: attempt.at)
    }

    // MARK: Conclusions

    /// Whether Apple has to accept the bundle id: it is configured, or was delivered to.
    func isKnown(_ topic: String) -> Bool { configuredTopics.contains(topic) || deliveredBundleIDs.contains(topic) }

    /// Whether Apple or Google delivers nothing through the route.
    func fails(at now: Duration) -> Bool { failure.fails(at: now) }

    /// Why the route fails, with the provider's last words, or nil if it doesn't.
    func issue(at now: Duration) -> RouteCondition? {
        failure.issue(of: provider, at: now).map { RouteCondition(kind: .failing, text: $0) }
    }

    /// The reasons about known bundle ids that Apple refuses.
    func topicIssues(at now: Duration) -> [RouteCondition] {
        refusedTopics.filter { now - $0.value.time < RouteFailure.validity }.sorted { $0.key < $1.key }
            .map { RouteCondition(kind: .bundleID($0.key), text: "Apple rejects the bundle id \($0.key): \($0.value.words)") }
    }

    /// Returns the warning about a route that does not fail, or nil if none exists.
    func warning(at now: Duration) -> RouteCondition? {
        if fails(at: now) { return nil }
        if mixed.isMixed(at: now) {
            let text = """
                \(provider) refuses pushes and then accepts them: two gorush behind one address, with different APNs environments or \
                Firebase projects, look like this; no such word unregisters a device now
                """
            return RouteCondition(kind: .mixed, text: text)
        }
        if let text = failure.warning(of: provider, at: now) { return RouteCondition(kind: .unwitnessed, text: text) }
        if let text = unwitnessed.warning(of: provider, at: now) { return RouteCondition(kind: .unwitnessed, text: text) }
        guard let unprovenWords, deliveredBundleIDs.isEmpty else { return nil }
        let text = "no push was ever delivered here, and all attempts were rejected: \(unprovenWords)"
        return RouteCondition(kind: .neverDelivered, text: text)
    }

    /// Returns the time at which a conclusion changes without another attempt, or nil if none does.
    func nextChange(after now: Duration) -> Duration? {
        [failure.nextChange(after: now), mixed.nextChange].compactMap(\.self).filter { $0 > now }.min()
    }
}

extension Timestamp {
    /// The time in UTC to the second, for operators.
    var text: String { Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).formatted(.iso8601) }
}
