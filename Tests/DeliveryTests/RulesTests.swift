import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Delivery

/// What is decided without a clock, a network or a database.
@Suite(.safetyNet) struct BackOffTests {
    @Test("Delays grow to the longest and lie anywhere between nothing and that", arguments: [BackOff.push, .patient, .route])
    func bounds(backOff: BackOff) {
        var random = SecureRandom()
        #expect(backOff.bound(afterFailures: 1) == backOff.first)
        #expect(backOff.bound(afterFailures: 2) == backOff.first * 2)
        #expect(backOff.bound(afterFailures: 0) == backOff.first)
        #expect(backOff.bound(afterFailures: .max) == backOff.longest)
        for failures in 1...40 {
            let bound = backOff.bound(afterFailures: failures)
            #expect(bound <= backOff.longest)
            #expect(bound >= backOff.bound(afterFailures: failures - 1))
            let delays = (0..<200).map { _ in backOff.delay(afterFailures: failures, using: &random) }
            #expect(delays.allSatisfy { $0 >= .zero && $0 <= bound })
            // Full jitter: the lower half too. One chance in 2^200 that it is not so.
            #expect(delays.contains { $0 < bound / 2 } && delays.contains { $0 > bound / 2 })
        }
    }

    @Test func `A route is tried again within 5 seconds, with time to spare for the attempt`() {
        #expect(BackOff.route.longest <= .seconds(4))
    }
}

@Suite(.safetyNet) struct BreakerTests {
    private var random = SecureRandom()

    private func open(_ breaker: Breaker) throws -> Duration {
        guard case .open(let until, _) = breaker.state else { throw Unexpected() }
        return until
    }

    private struct Unexpected: Error {}

    @Test mutating func `One failure opens it, one attempt closes it`() throws {
        var breaker = Breaker()
        #expect(breaker.permits(at: .zero) == .max)
        breaker.begin()
        breaker.fail(at: .zero, retryAfter: nil, using: &random)
        let until = try open(breaker)
        #expect(until <= BackOff.route.first)
        if until > .zero { #expect(breaker.permits(at: until - .nanoseconds(1)) == 0) }
        #expect(breaker.permits(at: until) == 1)
        breaker.begin()
        #expect(breaker.permits(at: until + .seconds(99)) == 0)
        #expect(breaker.nextAttempt == nil)
        breaker.succeed()
        #expect(breaker.state == .closed)
    }

    @Test mutating func `Failures in a row make the pauses longer, up to a bound`() throws {
        var breaker = Breaker()
        var now = Duration.zero
        for failures in 1...30 {
            breaker.begin()
            breaker.fail(at: now, retryAfter: nil, using: &random)
            let until = try open(breaker)
            #expect(breaker.state == .open(until: until, failures: failures))
            #expect(until - now <= BackOff.route.bound(afterFailures: failures))
            now = until
        }
    }

    @Test mutating func `Many requests that fail together count as one failure`() throws {
        var breaker = Breaker()
        for _ in 1...32 { breaker.fail(at: .zero, retryAfter: nil, using: &random) }
        #expect(breaker.state == .open(until: try open(breaker), failures: 1))
    }

    @Test mutating func `A success of a request that went out before does not close it`() throws {
        var breaker = Breaker()
        breaker.fail(at: .zero, retryAfter: nil, using: &random)
        let state = breaker.state
        breaker.succeed()
        #expect(breaker.state == state)
    }

    @Test mutating func `Nothing goes out before the time that the other side named, also if another request says so later`() throws {
        var breaker = Breaker()
        breaker.fail(at: .seconds(1), retryAfter: .seconds(60), using: &random)
        #expect(try open(breaker) == .seconds(61))
        breaker.fail(at: .seconds(2), retryAfter: .seconds(90), using: &random)
        breaker.fail(at: .seconds(3), retryAfter: nil, using: &random)
        #expect(try open(breaker) == .seconds(92))
    }
}

@Suite(.safetyNet) struct WaveDetectorTests {
    @Test(
        "A share of the verdicts of a minute makes a wave",
        arguments: [
            (total: 100, turnedDown: 30, isWave: true), (100, 29, false), (10, 10, true), (9, 9, false), (1_000, 10, false), (33, 10, true),
        ])
    func share(total: Int, turnedDown: Int, isWave: Bool) {
        var detector = WaveDetector(share: 0.3)
        for number in 0..<total { detector.record(total: 1, turnedDown: number < turnedDown ? 1 : 0, at: .milliseconds(number)) }
        // What comes first must not look like a wave by itself.
        #expect(detector.isWave(at: .seconds(1)) == isWave || turnedDown >= WaveDetector.minimumCount)
        var late = WaveDetector(share: 0.3)
        late.record(total: total - turnedDown, turnedDown: 0, at: .zero)
        for _ in 0..<turnedDown { late.record(total: 1, turnedDown: 1, at: .milliseconds(1)) }
        #expect(late.isWave(at: .seconds(1)) == isWave)
    }

    @Test func `Verdicts of more than a minute ago do not count`() {
        var detector = WaveDetector(share: 0.3)
        detector.record(total: 9, turnedDown: 9, at: .zero)
        detector.record(total: 1, turnedDown: 1, at: WaveDetector.window)
        #expect(!detector.isWave(at: WaveDetector.window))
        detector.record(total: 9, turnedDown: 9, at: WaveDetector.window + .seconds(1))
        #expect(detector.isWave(at: WaveDetector.window + .seconds(1)))
    }

    @Test func `A wave lasts while the little that is tried is turned down, and ends when devices take pushes again`() {
        var detector = WaveDetector(share: 0.3)
        detector.record(total: 10, turnedDown: 10, at: .zero)
        var now = Duration.zero
        for _ in 1...20 {
            now += .seconds(600)
            detector.record(total: 1, turnedDown: 1, at: now)
            #expect(detector.isWave(at: now))
        }
        let last = now
        now += .seconds(600)
        detector.record(total: 50, turnedDown: 1, at: now)
        #expect(detector.isWave(at: last + WaveDetector.holdingTime - .seconds(1)))
        #expect(!detector.isWave(at: last + WaveDetector.holdingTime))
    }
}

@Suite(.safetyNet) struct FailureTaxonomyTests {
    @Test(
        "Every text of GORUSH.md §6, and what stands around it",
        arguments: [
            ("Unregistered", FailureKind.deadToken), ("ExpiredToken", .deadToken), ("Requested entity was not found.", .deadToken),
            ("NotRegistered", .deadToken), ("unregistered device", .deadToken),
            ("BadDeviceToken", .wrongEnvironment), ("DeviceTokenNotForTopic", .wrongEnvironment), ("MissingDeviceToken", .wrongEnvironment),
            ("The registration token is not a valid FCM registration token", .wrongEnvironment), ("SenderId mismatch", .wrongEnvironment),
            ("invalid registration token", .wrongEnvironment), ("mismatched sender id", .wrongEnvironment),
            ("InvalidRegistration", .wrongEnvironment),
            ("TooManyRequests", .transient), ("InternalServerError", .transient), ("ServiceUnavailable", .transient),
            ("Shutdown", .transient), ("IdleTimeout", .transient),
            (#"Post "https://api.push.apple.com/3/device/Unregistered": dial tcp: connection refused"#, .transient),
            ("context canceled", .transient), ("rpc: context deadline exceeded", .transient),
            ("The service is currently unavailable.", .transient), ("Internal error encountered.", .transient),
            ("Resource has been exhausted (e.g. check quota).", .transient),
            ("unexpected http response with status: 503\nbody", .transient),
            ("unknown error while making an http call: EOF", .transient), ("timed out while making an http call: x", .transient),
            ("failed to establish a connection: x", .transient),
            ("InvalidProviderToken", .operatorFault), ("ExpiredProviderToken", .operatorFault), ("MissingProviderToken", .operatorFault),
            ("TooManyProviderTokenUpdates", .operatorFault), ("BadCertificate", .operatorFault),
            ("BadCertificateEnvironment", .operatorFault), ("Forbidden", .operatorFault), ("TopicDisallowed", .operatorFault),
            ("BadTopic", .operatorFault), ("MissingTopic", .operatorFault), ("oauth2: cannot fetch token: 401", .operatorFault),
            ("Request had invalid authentication credentials. Expected OAuth 2 access token", .operatorFault),
            ("Permission 'cloudmessaging.messages.create' denied on resource", .operatorFault), ("FCM server error: 500", .operatorFault),
            ("PayloadTooLarge", .tooLong), ("Android message is too big", .tooLong),
            ("PayloadEmpty", .ourFault), ("BadCollapseId", .ourFault), ("BadExpirationDate", .ourFault), ("BadMessageId", .ourFault),
            ("BadPriority", .ourFault), ("InvalidPushType", .ourFault), ("BadPath", .ourFault),
            ("fcm service send message error: invalid message at index 1: x", .ourFault),
            ("Request contains an invalid argument.", .ourFault),
            ("", .transient), ("unregistered", .transient), ("Unregistered ", .transient), ("something new", .transient),
        ])
    func table(text: String, kind: FailureKind) {
        #expect(FailureTaxonomy.classify(text).kind == kind)
    }

    @Test func `Each row is reached by its own text, and reasons are fit to be printed`() {
        for row in FailureTaxonomy.rows {
            #expect(FailureTaxonomy.classify(row.text).reason == row.reason)
            #expect(!row.reason.contains("\""))
        }
        #expect(Set(FailureTaxonomy.reasons).count == FailureTaxonomy.reasons.count)
    }

    @Test func `An unknown text keeps none of its words`() {
        #expect(!FailureTaxonomy.classify("token a1a1").reason.contains("a1a1"))
        #expect(!FailureTaxonomy.classify(#"Post "https://x/3/device/a1a1": EOF"#).reason.contains("a1a1"))
    }
}

@Suite(.safetyNet) struct OutcomeRulesTests {
    private let now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    private func decide(
        _ fate: PushFate, attempts: Int = 1, isWave: Bool = false, hasCiphertext: Bool = true, suspectedFor: Duration? = nil
    ) -> PushDecision {
        var random = SecureRandom()
        return OutcomeRules(isWave: isWave, successIsProof: true, now: now).decide(
            fate, attempts: attempts, hasCiphertext: hasCiphertext,
            suspectedAt: suspectedFor.map { now.advanced(by: .zero - $0) }, using: &random)
    }

    private func failed(_ kind: FailureKind) -> PushFate { .failed(Failure(kind: kind, reason: "r")) }

    private func retries(_ decision: PushDecision, isUnknown: Bool = false, atMost: Duration) -> Bool {
        guard case .retry(let delay, isUnknown) = decision.ending else { return false }
        return delay <= atMost
    }

    @Test func `Every kind of failure has its consequence`() {
        #expect(decide(.sent).ending == .finish(.sent))
        #expect(decide(failed(.deadToken)) == PushDecision(ending: .finish(.deadToken), reason: "r", token: .bury))
        #expect(decide(failed(.ourFault)) == PushDecision(ending: .finish(.refused), reason: "r"))
        #expect(retries(decide(failed(.transient)), atMost: BackOff.push.first))
        #expect(retries(decide(failed(.operatorFault)), atMost: BackOff.patient.first))
        #expect(decide(.refused(reason: "x")).ending == .finish(.refused))
        #expect(retries(decide(.unknown(reason: "x")), isUnknown: true, atMost: BackOff.push.first))
        #expect(decide(.notSent(reason: "x")).ending == .release)
    }

    @Test func `An ambiguous verdict is a suspicion first, and final when it is repeated later`() {
        let first = decide(failed(.wrongEnvironment))
        #expect(first.token == .suspect && retries(first, atMost: BackOff.push.first))
        let soon = decide(failed(.wrongEnvironment), suspectedFor: OutcomeRules.confirmationInterval - .nanoseconds(1))
        #expect(soon.token == .suspect && retries(soon, atMost: BackOff.push.first))
        let later = decide(failed(.wrongEnvironment), suspectedFor: OutcomeRules.confirmationInterval)
        #expect(later.token == .bury && later.ending == .finish(.deadToken))
        #expect(decide(.sent, suspectedFor: .seconds(1)).token == .clearSuspicion)
    }

    @Test("In a wave nothing is final but a success", arguments: [FailureKind.deadToken, .wrongEnvironment, .ourFault])
    func wave(kind: FailureKind) {
        let decision = decide(failed(kind), isWave: true, suspectedFor: .seconds(9_999))
        #expect(decision.token == .none && retries(decision, atMost: BackOff.patient.first))
        #expect(retries(decide(.refused(reason: "x"), isWave: true), atMost: BackOff.patient.first))
        #expect(decide(.sent, isWave: true).ending == .finish(.sent))
    }

    @Test func `What is too long is sent without its ciphertext; without one it is refused`() {
        let first = decide(failed(.tooLong))
        #expect(first.dropsCiphertext && retries(first, atMost: .zero))
        #expect(decide(failed(.tooLong), hasCiphertext: false).ending == .finish(.refused))
    }
}

@Suite(.safetyNet) struct RouteTests {
    @Test func `Every push has one route, whatever the names and topics`() {
        var configuration = DeliveryConfiguration(endpoint: .init(url: "http://x"))
        #expect(configuration.allRoutes.map(\.name) == ["ios", "android"])
        configuration.routes = [
            .init(name: "ios", pushes: .apnTopics(["a", "b"])), .init(name: "other", pushes: .apnTopics(["b", "c"])),
            .init(name: "other", pushes: .apnTopics(["d"])), .init(name: "google", pushes: .platform(.android)),
            .init(name: "twice", pushes: .platform(.android)),
        ]
        #expect(configuration.allRoutes.map(\.name) == ["ios", "other", "google", "twice", "ios-rest"])
        #expect(
            configuration.assignments == [
                RouteAssignment(tokenType: .apn, apnTopic: "a", route: "ios"),
                RouteAssignment(tokenType: .apn, apnTopic: "b", route: "ios"),
                RouteAssignment(tokenType: .apn, apnTopic: "c", route: "other"),
                RouteAssignment(tokenType: .firebase, apnTopic: "", route: "google"),
                RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios-rest"),
            ])
    }
}

@Suite(.safetyNet) struct GorushInstanceTests {
    private func read(_ yaml: String) -> GorushInstance? { GorushInstance(yaml: Array(yaml.utf8)) }

    @Test func `Its configuration is read`() throws {
        let yaml = """
            core:
              sync: true
              max_notification: 50
              queue_num: 0
              worker_num: 2
              feedback_hook_url: ""
            android:
              enabled: true
              max_retry: 3
            ios:
              enabled: false
              production: false
              max_concurrent_pushes: 100
            """
        let instance = try #require(read(yaml))
        #expect(instance.isSync == true)
        #expect(instance.maximumNotificationCount == 50)
        #expect(instance.queueCount == 8_192)
        #expect(instance.retriesItself)
        #expect(instance.isIOSEnabled == false && instance.isAndroidEnabled == true)
        #expect(instance.warnings(servesIOS: true, servesAndroid: false).count == 3)
        #expect(instance.warnings(servesIOS: false, servesAndroid: true).count == 2)
    }

    @Test("What is no configuration says nothing", arguments: ["", "404 page not found", "{", "[]", "core: 1", "ios: {}", "\u{0}", "- a"])
    func junk(text: String) {
        #expect(read(text) == nil)
    }

    @Test(
        "What loses pushes is warned of",
        arguments: [
            ("core: {sync: false}", "feedback"), ("core: {sync: true}\nios: {enabled: true, production: false}", "sandbox"),
            ("core: {sync: true}\nios: {enabled: true, max_concurrent_pushes: 0}", "hangs"),
            ("core: {sync: true}\nios: {enabled: false}", "ios.enabled"),
            ("core: {sync: true}\nandroid: {enabled: false}", "android.enabled"),
            ("core: {sync: true}\nandroid: {max_retry: 1}", "max_retry"), ("core: {sync: true, worker_num: 2}", "worker_num"),
        ])
    func warned(yaml: String, word: String) throws {
        let warnings = try #require(read(yaml)).warnings(servesIOS: true, servesAndroid: true)
        #expect(warnings.count == 1 && warnings[0].contains(word))
    }
}
