import Envelope
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// The failure of routes, and the confirmation of verdicts (DELIVERY.md, rules 2 and 3), without HTTP, a database or a clock.
@Suite(.safetyNet) struct EvidenceTests {
    private static let refused = "Apple rejects gorush's credentials: "
    private static let nothing = "Apple delivers nothing, not even to devices that have worked: "

    private func evidence(configured: Set<String> = []) -> Evidence { Evidence(platform: .ios, configuredTopics: configured) }

    private func attempt(_ number: Int, _ outcome: AttemptOutcome, isProven: Bool = true, topic: String = "app") -> Outbox.Attempt {
        var push = queued([iosPush(number, topic: topic)])[0]
        if isProven { push.tokenDeliveredAt = World.start }
        return Outbox.Attempt(push: push, outcome: outcome, at: World.start)
    }

    private func failed(_ number: Int, _ words: String, isProven: Bool = true, topic: String = "app") -> Outbox.Attempt {
        attempt(number, .failed(FailureTaxonomy.classify(words)), isProven: isProven, topic: topic)
    }

    @Test(
        "A route fails after a minute in which two proven devices got no delivery, whatever the words",
        arguments: [
            AttemptOutcome.failed(FailureTaxonomy.classify("BadDeviceToken")), .failed(FailureTaxonomy.classify("ServiceUnavailable")),
            .failed(FailureTaxonomy.classify("TopicDisallowed")), .failed(FailureTaxonomy.classify("words of tomorrow")),
            .timedOut(count: 0), .unknown(reason: "no response"), .refused(reason: "rejected by gorush"),
        ])
    func failure(outcome: AttemptOutcome) {
        var evidence = evidence()
        do { let result = evidence.record(attempt(1, outcome), at: .zero); #expect(!result) }
        do { let result = evidence.record(attempt(2, outcome), at: .seconds(59)); #expect(!result) }
        #expect(!evidence.fails(at: .seconds(59)))
        do { let result = evidence.record(attempt(1, outcome), at: .seconds(60)); #expect(!result) }
        #expect(evidence.fails(at: .seconds(60)) && evidence.issue(at: .seconds(60))?.hasPrefix(Self.nothing) == true)
        // Fifteen minutes after the last such attempt, the route stops waiting.
        #expect(evidence.fails(at: .seconds(959)) && !evidence.fails(at: .seconds(960)))
        do { let result = evidence.record(attempt(3, .sent), at: .seconds(61)); #expect(result) }
        #expect(!evidence.fails(at: .seconds(61)))
    }

    @Test func `the reason has the provider's last words, and a delivery to any device ends the failure`() {
        var evidence = evidence()
        _ = evidence.record(failed(1, "BadDeviceToken"), at: .zero)
        _ = evidence.record(failed(2, "ServiceUnavailable"), at: .seconds(60))
        #expect(evidence.issue(at: .seconds(60)) == Self.nothing + "ServiceUnavailable")
        do { let result = evidence.record(attempt(9, .sent, isProven: false), at: .seconds(61)); #expect(result) }
        #expect(evidence.issue(at: .seconds(61)) == nil)
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `Apple's 410 is a verdict on a device and does not count against the route`(words: String) {
        var evidence = evidence()
        for second in 0..<300 { _ = evidence.record(failed(second % 12, words), at: .seconds(second)) }
        #expect(evidence.issue(at: .seconds(300)) == nil && evidence.warnings(at: .seconds(300)) == [])
    }

    @Test func `a delivery between two failures restarts the count`() {
        var evidence = evidence()
        for second in stride(from: 0, to: 600, by: 30) {
            _ = evidence.record(failed(second % 7, "ServiceUnavailable"), at: .seconds(second))
            _ = evidence.record(attempt(99, .sent), at: .seconds(second + 1))
            #expect(!evidence.fails(at: .seconds(second + 2)))
        }
    }

    @Test func `a single failing device is a warning, and so is a route that never delivered`() {
        var one = evidence()
        for second in stride(from: 0, through: 600, by: 60) { _ = one.record(failed(1, "BadDeviceToken"), at: .seconds(second)) }
        #expect(one.issue(at: .seconds(600)) == nil)
        #expect(one.warnings(at: .seconds(600)) == ["the only device that was tried has worked and is not delivered to: BadDeviceToken"])
        var fresh = evidence()
        for number in 0..<60 { _ = fresh.record(failed(number, "SenderId mismatch", isProven: false), at: .seconds(number * 10)) }
        #expect(fresh.issue(at: .seconds(600)) == nil)
        #expect(
            fresh.warnings(at: .seconds(600)) == ["no push was ever delivered here, and all attempts were rejected: SenderId mismatch"])
    }

    @Test func `an idle route with one push an hour does not fail for two failures an hour apart`() {
        var evidence = evidence()
        for hour in 0..<24 {
            _ = evidence.record(failed(hour, "ServiceUnavailable"), at: .seconds(3_600 * hour))
            #expect(!evidence.fails(at: .seconds(3_600 * hour)))
        }
    }

    @Test func `invented tokens make a route neither fail nor recover`() {
        var evidence = evidence()
        for second in 0..<120 { _ = evidence.record(failed(second, "BadDeviceToken", isProven: false), at: .seconds(second)) }
        #expect(!evidence.fails(at: .seconds(120)))
        _ = evidence.record(failed(1, "BadDeviceToken"), at: .seconds(120))
        _ = evidence.record(failed(2, "BadDeviceToken"), at: .seconds(180))
        for second in 181..<240 { _ = evidence.record(failed(second, "BadDeviceToken", isProven: false), at: .seconds(second)) }
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
        _ = evidence.record(failed(1, words, isProven: false), at: .seconds(1))
        #expect(evidence.issue(at: .seconds(5)) == nil)
        #expect(evidence.nextChange(after: .seconds(1)) == .seconds(6))
        #expect(evidence.issue(at: .seconds(6)) == Self.refused + words && evidence.refusesGorush(at: .seconds(6)))
        do { let result = evidence.record(attempt(2, .sent, isProven: false), at: .seconds(7)); #expect(result) }
        #expect(evidence.issue(at: .seconds(7)) == nil)
    }

    @Test(
        "Words that a token or a bundle id can cause are not reported",
        arguments: [
            "BadDeviceToken", "DeviceTokenNotForTopic", "SenderId mismatch", "Auth error from APNS or Web Push Service", "TopicDisallowed",
        ])
    func never(words: String) {
        var evidence = evidence()
        for second in 0..<600 { _ = evidence.record(failed(second, words, isProven: false), at: .seconds(second)) }
        #expect(evidence.issue(at: .seconds(600)) == nil && evidence.topicIssues(at: .seconds(600)) == [])
    }

    @Test func `a single rejection between deliveries is no issue, and an issue ends without further attempts`() {
        var evidence = evidence()
        for second in 0..<60 {
            _ = evidence.record(second.isMultiple(of: 4) ? attempt(1, .sent) : failed(1, "Forbidden"), at: .seconds(second))
            #expect(evidence.issue(at: .seconds(second)) == nil)
        }
        #expect(evidence.issue(at: .seconds(100)) != nil)
        #expect(evidence.issue(at: .seconds(59) + Evidence.validity) == nil)
    }

    @Test(
        "A bundle id that Apple rejects is an issue if it is configured or proven",
        arguments: [(["app"], false, true), ([], true, true), ([], false, false)] as [(Set<String>, Bool, Bool)])
    func topics(configured: Set<String>, hasWorked: Bool, isIssue: Bool) {
        var evidence = evidence(configured: configured)
        if hasWorked { do { let result = evidence.record(attempt(1, .sent), at: .zero); #expect(result) } }
        _ = evidence.record(failed(2, "TopicDisallowed", isProven: false), at: .zero)
        #expect(evidence.topicIssues(at: .zero) == (isIssue ? ["Apple rejects the bundle id app: TopicDisallowed"] : []))
        _ = evidence.record(attempt(1, .sent), at: .seconds(1))
        #expect(evidence.topicIssues(at: .seconds(1)) == [])
    }

    // MARK: Waiting pushes

    @Test func `waiting pushes become due with the delivery that ends an outage of a minute, and with the first for a bundle id`() {
        var evidence = evidence()
        do { let result = evidence.record(attempt(1, .sent), at: .zero); #expect(result) }
        do { let result = evidence.record(attempt(1, .sent), at: .seconds(1)); #expect(!result) }
        // An outage of a single device, or of gorush itself, counts.
        _ = evidence.record(failed(1, "ServiceUnavailable"), at: .seconds(2))
        do { let result = evidence.record(attempt(1, .sent), at: .seconds(61)); #expect(!result) }
        _ = evidence.record(failed(1, "ServiceUnavailable"), at: .seconds(62))
        do { let result = evidence.record(attempt(1, .sent), at: .seconds(122)); #expect(result) }
        evidence.gorushFailed(at: .seconds(200))
        do { let result = evidence.record(attempt(1, .sent), at: .seconds(260)); #expect(result) }
        do { let result = evidence.record(attempt(1, .sent), at: .seconds(400)); #expect(!result) }
    }

    // MARK: Witnesses

    @Test(
        "A witness is a device that was proven before the first verdict and got a delivery after it",
        arguments: [(0, 200, true), (100, 200, true), (101, 200, false), (0, 100, false), (0, 99, false)])
    func witness(provenAt: Int, deliveredAt: Int, confirms: Bool) {
        var witnesses = Witnesses()
        witnesses.record(topic: "app", provenAt: time(provenAt), deliveredAt: time(deliveredAt))
        #expect(witnesses.confirm(topic: "app", since: time(100)) == confirms)
        #expect(!witnesses.confirm(topic: "other", since: time(100)))
    }

    @Test func `newer devices do not displace a witness`() {
        var witnesses = Witnesses()
        witnesses.record(topic: "app", provenAt: time(0), deliveredAt: time(110))
        for second in 120..<150 { witnesses.record(topic: "app", provenAt: time(second), deliveredAt: time(second + 1)) }
        #expect(witnesses.confirm(topic: "app", since: time(100)))
        for second in 150..<400 { witnesses.record(topic: "app", provenAt: time(second), deliveredAt: time(second + 1)) }
        // The witnesses are limited to fewer than these, so the verdict is confirmed later.
        #expect(!witnesses.confirm(topic: "app", since: time(100)))
        #expect(witnesses.confirm(topic: "app", since: time(399)))
    }

    private func time(_ seconds: Int) -> Timestamp { World.start.advanced(by: .seconds(seconds)) }
}
