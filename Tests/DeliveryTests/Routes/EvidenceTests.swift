import Envelope
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// Whether a route works (DELIVERY.md, rule 4), without HTTP, a database or a clock.
@Suite(.safetyNet) struct EvidenceTests {
    private static let refused = "Apple rejects gorush's credentials: "
    private static let nothing = "Apple delivers nothing, not even to devices that have worked: "

    private func evidence(configured: Set<String> = []) -> Evidence { Evidence(platform: .ios, configuredTopics: configured) }

    private func attempt(_ number: Int, _ outcome: AttemptOutcome, isProven: Bool = true, topic: String = "app") -> PushAttempt {
        var push = queued([iosPush(number, topic: topic)])[0]
        push.id = Int64(number)
        if isProven { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        return PushAttempt(push: push, outcome: outcome)
    }

    /// Records an attempt, and returns whether waiting pushes are due.
    private func record(_ attempt: PushAttempt, in evidence: inout Evidence, at time: Duration) -> Bool {
        var attempt = attempt
        return evidence.record(&attempt, at: time)
    }

    private func failed(_ number: Int, _ words: String, isProven: Bool = true, topic: String = "app") -> PushAttempt {
        attempt(number, .failed(FailureTaxonomy.classify(words)), isProven: isProven, topic: topic)
    }

    @Test(
        "A route fails after a minute in which two proven devices got no delivery, whatever the words",
        arguments: [
            AttemptOutcome.failed(FailureTaxonomy.classify("BadDeviceToken")), .failed(FailureTaxonomy.classify("ServiceUnavailable")),
            .failed(FailureTaxonomy.classify("TopicDisallowed")), .failed(FailureTaxonomy.classify("words of tomorrow")),
            .timedOut(count: 0), .unknown(reason: .noResponse), .failed(Failure(kind: .refusedPush, reason: .rejectedByGorush)),
        ])
    func failure(outcome: AttemptOutcome) {
        var evidence = evidence()
        do { let result = record(attempt(1, outcome), in: &evidence, at: .zero); #expect(!result) }
        do { let result = record(attempt(2, outcome), in: &evidence, at: .seconds(59)); #expect(!result) }
        #expect(!evidence.fails(at: .seconds(59)))
        do { let result = record(attempt(1, outcome), in: &evidence, at: .seconds(60)); #expect(!result) }
        #expect(evidence.fails(at: .seconds(60)) && evidence.issue(at: .seconds(60))?.text.hasPrefix(Self.nothing) == true)
        // Fifteen minutes after the last such attempt, the route stops waiting.
        #expect(evidence.fails(at: .seconds(959)) && !evidence.fails(at: .seconds(960)))
        do { let result = record(attempt(3, .sent), in: &evidence, at: .seconds(61)); #expect(result) }
        #expect(!evidence.fails(at: .seconds(61)))
    }

    @Test func `the reason has the provider's last words, and a delivery to any device ends the failure`() {
        var evidence = evidence()
        _ = record(failed(1, "BadDeviceToken"), in: &evidence, at: .zero)
        _ = record(failed(2, "ServiceUnavailable"), in: &evidence, at: .seconds(60))
        #expect(evidence.issue(at: .seconds(60))?.text == Self.nothing + "ServiceUnavailable")
        do { let result = record(attempt(9, .sent, isProven: false), in: &evidence, at: .seconds(61)); #expect(result) }
        #expect(evidence.issue(at: .seconds(61)) == nil)
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `Apple's 410 is a verdict on a device and does not count against the route`(words: String) {
        var evidence = evidence()
        for second in 0..<300 { _ = record(failed(second % 12, words), in: &evidence, at: .seconds(second)) }
        #expect(evidence.issue(at: .seconds(300)) == nil && evidence.warning(at: .seconds(300)) == nil)
    }

    @Test func `a delivery between two failures restarts the count`() {
        var evidence = evidence()
        for second in stride(from: 0, to: 600, by: 30) {
            _ = record(failed(second % 7, "ServiceUnavailable"), in: &evidence, at: .seconds(second))
            _ = record(attempt(99, .sent), in: &evidence, at: .seconds(second + 1))
            #expect(!evidence.fails(at: .seconds(second + 2)))
        }
    }

    @Test func `a single failing device is a warning, and so is a route that never delivered`() {
        var one = evidence()
        for second in stride(from: 0, through: 600, by: 60) { _ = record(failed(1, "BadDeviceToken"), in: &one, at: .seconds(second)) }
        #expect(one.issue(at: .seconds(600)) == nil)
        let text = "Apple has delivered nothing since 2027-01-15T08:00:00Z: 1 push to 1 device failed: BadDeviceToken"
        #expect(one.warning(at: .seconds(600)) == RouteCondition(kind: .unwitnessed, text: text))
        #expect(one.warning(at: .seconds(59)) == nil)
        var fresh = evidence()
        for number in 0..<60 { _ = record(failed(number, "SenderId mismatch", isProven: false), in: &fresh, at: .seconds(number * 10)) }
        #expect(fresh.issue(at: .seconds(600)) == nil)
        #expect(
            fresh.warning(at: .seconds(600))?.text == "no push was ever delivered here, and all attempts were rejected: SenderId mismatch")
    }

    @Test func `an idle route with one push an hour does not fail for two failures an hour apart`() {
        var evidence = evidence()
        for hour in 0..<24 {
            _ = record(failed(hour, "ServiceUnavailable"), in: &evidence, at: .seconds(3_600 * hour))
            #expect(!evidence.fails(at: .seconds(3_600 * hour)))
        }
    }

    @Test func `invented tokens make a route neither fail nor recover`() {
        var evidence = evidence()
        for second in 0..<120 { _ = record(failed(second, "BadDeviceToken", isProven: false), in: &evidence, at: .seconds(second)) }
        #expect(!evidence.fails(at: .seconds(120)))
        _ = record(failed(1, "BadDeviceToken"), in: &evidence, at: .seconds(120))
        _ = record(failed(2, "BadDeviceToken"), in: &evidence, at: .seconds(180))
        for second in 181..<240 { _ = record(failed(second, "BadDeviceToken", isProven: false), in: &evidence, at: .seconds(second)) }
        #expect(evidence.fails(at: .seconds(240)))
    }

    // MARK: Words that no registration can cause

    @Test(
        "Words that no registration can cause are reported after 5 s without a delivery, even for an unproven device",
        arguments: [
            "InvalidProviderToken", "BadEnvironmentKeyIdInToken", "UnrelatedKeyIdInToken", "TooManyProviderTokenUpdates",
            "The caller does not have permission", "oauth2: cannot fetch token: 400 Bad Request",
            "Firebase Cloud Messaging API has not been used in project 123 before or it is disabled.",
            "Request is missing required authentication credential. Expected OAuth 2 access token",
        ])
    func refusal(words: String) {
        var evidence = evidence()
        _ = record(failed(1, words, isProven: false), in: &evidence, at: .seconds(1))
        #expect(evidence.issue(at: .seconds(5)) == nil)
        #expect(evidence.nextChange(after: .seconds(1)) == .seconds(6))
        #expect(evidence.issue(at: .seconds(6))?.text == Self.refused + words && evidence.failure.rejectsGorush(at: .seconds(6)))
        do { let result = record(attempt(2, .sent, isProven: false), in: &evidence, at: .seconds(7)); #expect(result) }
        #expect(evidence.issue(at: .seconds(7)) == nil)
    }

    @Test(
        "Words that a token or a bundle id can cause are not reported",
        arguments: [
            "BadDeviceToken", "DeviceTokenNotForTopic", "SenderId mismatch", "Auth error from APNS or Web Push Service", "TopicDisallowed",
        ])
    func never(words: String) {
        var evidence = evidence()
        for second in 0..<600 { _ = record(failed(second, words, isProven: false), in: &evidence, at: .seconds(second)) }
        #expect(evidence.issue(at: .seconds(600)) == nil && evidence.topicIssues(at: .seconds(600)) == [])
    }

    @Test func `a single rejection between deliveries is no issue, and an issue ends without further attempts`() {
        var evidence = evidence()
        for second in 0..<60 {
            _ = record(second.isMultiple(of: 4) ? attempt(1, .sent) : failed(1, "Forbidden"), in: &evidence, at: .seconds(second))
            #expect(evidence.issue(at: .seconds(second)) == nil)
        }
        #expect(evidence.issue(at: .seconds(100)) != nil)
        #expect(evidence.issue(at: .seconds(59) + RouteFailure.validity) == nil)
    }

    @Test(
        "A bundle id that Apple rejects is an issue if it is configured or proven",
        arguments: [(["app"], false, true), ([], true, true), ([], false, false)] as [(Set<String>, Bool, Bool)])
    func topics(configured: Set<String>, hasWorked: Bool, isIssue: Bool) {
        var evidence = evidence(configured: configured)
        if hasWorked { do { let result = record(attempt(1, .sent), in: &evidence, at: .zero); #expect(result) } }
        _ = record(failed(2, "TopicDisallowed", isProven: false), in: &evidence, at: .zero)
        #expect(evidence.topicIssues(at: .zero).map(\.text) == (isIssue ? ["Apple rejects the bundle id app: TopicDisallowed"] : []))
        _ = record(attempt(1, .sent), in: &evidence, at: .seconds(1))
        #expect(evidence.topicIssues(at: .seconds(1)) == [])
    }

    // MARK: Waiting pushes

    @Test func `waiting pushes become due with the delivery that ends an outage of a minute, and with the first for a bundle id`() {
        var evidence = evidence()
        do { let result = record(attempt(1, .sent), in: &evidence, at: .zero); #expect(result) }
        do { let result = record(attempt(1, .sent), in: &evidence, at: .seconds(1)); #expect(!result) }
        // An outage of a single device, or of gorush itself, counts.
        _ = record(failed(1, "ServiceUnavailable"), in: &evidence, at: .seconds(2))
        do { let result = record(attempt(1, .sent), in: &evidence, at: .seconds(61)); #expect(!result) }
        _ = record(failed(1, "ServiceUnavailable"), in: &evidence, at: .seconds(62))
        do { let result = record(attempt(1, .sent), in: &evidence, at: .seconds(122)); #expect(result) }
        evidence.gorushFailed(at: .seconds(200))
        do { let result = record(attempt(1, .sent), in: &evidence, at: .seconds(260)); #expect(result) }
        do { let result = record(attempt(1, .sent), in: &evidence, at: .seconds(400)); #expect(!result) }
    }

    // MARK: How many devices

    @Test(
        "A route fails if half of the devices that got a push lately fail, at least two and at most twenty",
        arguments: [(0, 2), (1, 2), (4, 2), (5, 3), (10, 5), (39, 20), (40, 20), (300, 20)])
    func threshold(recent: Int, required: Int) {
        var evidence = evidence()
        for number in 0..<recent { _ = record(attempt(1_000 + number, .sent), in: &evidence, at: .zero) }
        for number in 1..<required { _ = record(failed(number, "ServiceUnavailable"), in: &evidence, at: .seconds(1)) }
        #expect(!evidence.fails(at: .seconds(61)) && evidence.warning(at: .seconds(61)) != nil)
        _ = record(failed(required, "ServiceUnavailable"), in: &evidence, at: .seconds(62))
        #expect(evidence.fails(at: .seconds(62)) && evidence.warning(at: .seconds(62)) == nil)
        // The devices of 48 hours ago count no more.
        #expect(evidence.failure.requiredDeviceCount(at: RouteFailure.recentInterval) == 2)
    }

    @Test func `devices that were unregistered since, and the quota of a device, do not count`() {
        var evidence = evidence()
        for number in 1...2 { _ = record(failed(number, "BadDeviceToken"), in: &evidence, at: .zero) }
        #expect(evidence.fails(at: .seconds(60)))
        let decision = PushDecision(disposition: .finish(.deadToken), reason: .badDeviceToken, token: .unregister)
        evidence.decided(decision, about: failed(1, "BadDeviceToken"), at: .seconds(61))
        #expect(!evidence.fails(at: .seconds(61)))
        for number in 3...9 { _ = record(failed(number, "TooManyRequests"), in: &evidence, at: .seconds(62)) }
        #expect(!evidence.fails(at: .seconds(62)))
        // Google does not say whose quota it is. That of one device is no warning.
        var limited = self.evidence()
        _ = record(failed(1, "Quota exceeded for quota metric"), in: &limited, at: .zero)
        #expect(limited.warning(at: .seconds(60)) == nil)
        _ = record(failed(2, "Quota exceeded for quota metric"), in: &limited, at: .seconds(61))
        #expect(limited.fails(at: .seconds(61)))
    }

    @Test func `devices that got a push before a restart count`() {
        var evidence = evidence()
        evidence.restore(Dictionary(uniqueKeysWithValues: (10..<20).map { (iosPush($0).target, .seconds(-3_600 * $0)) }))
        for number in 1...4 { _ = record(failed(number, "BadDeviceToken"), in: &evidence, at: .zero) }
        #expect(!evidence.fails(at: .seconds(60)) && evidence.failure.requiredDeviceCount(at: .seconds(60)) == 5)
    }

    // MARK: Refusals next to deliveries

    @Test func `refusals without a witness are a warning while other devices are delivered to`() {
        var evidence = evidence()
        var refused = failed(1, "SenderId mismatch")
        refused.answeredAt = World.start.advanced(by: .seconds(61))
        func judge(_ hasWitness: Bool, _ since: Int) {
            let judgement = PushDecision.Judgement(since: World.start.advanced(by: .seconds(since)), hasWitness: hasWitness)
            let decision = PushDecision(disposition: .retry(after: .zero, isUnknown: false), judgement: judgement)
            evidence.decided(decision, about: refused, at: .seconds(61))
        }
        _ = record(attempt(9, .sent), in: &evidence, at: .seconds(61))
        judge(false, 2)
        #expect(evidence.warning(at: .seconds(61)) == nil)
        judge(false, 0)
        let text = """
            Apple has refused 1 push to 1 device that worked before, since 2027-01-15T08:00:00Z, while nothing was delivered to others \
            that worked before: SenderId mismatch
            """
        #expect(evidence.warning(at: .seconds(61)) == RouteCondition(kind: .unwitnessed, text: text))
        judge(true, 0)
        #expect(evidence.warning(at: .seconds(61)) == nil)
    }

    @Test func `a refusal that was posted before a delivery to the same device is void`() {
        var evidence = evidence()
        var (early, sent, late) = (failed(1, "BadDeviceToken"), attempt(1, .sent), failed(1, "BadDeviceToken"))
        for _ in 1...3 { evidence.posted(to: early.push.targetDigest) }
        early.postedAt = World.start
        sent.answeredAt = World.start.advanced(by: .seconds(5))
        late.postedAt = World.start.advanced(by: .seconds(6))
        #expect(evidence.inFlight.contains(early.push.targetDigest))
        _ = evidence.record(&sent, at: .seconds(5))
        _ = evidence.record(&early, at: .seconds(6))
        _ = evidence.record(&late, at: .seconds(7))
        #expect(early.isVoid && !late.isVoid && !sent.isVoid && late.maySuspect)
        #expect(!evidence.inFlight.contains(early.push.targetDigest))
    }
}
