import Bytes
import Envelope
import PushProtocol
import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// The consequences of an attempt, without a clock, a network or a database.
@Suite(.safetyNet) struct OutcomeRulesTests {
    private let now = World.start

    private func decide(
        _ outcome: AttemptOutcome, attempts: Int = 1, fails: Bool = false, hasWorked: Bool = true, topicHasWorked: Bool = true,
        suspicion: Suspicion? = nil, refusals: PushRefusals = PushRefusals(), ciphertext: [UInt8] = [1], rules: RefusalRules? = nil,
        isVoid: Bool = false, jitter: Double = 1
    ) -> PushDecision {
        var push = queued([iosPush(1, topic: "app")])[0]
        push.attempts = attempts - 1
        push.push.message = ciphertext
        push.refusals = refusals
        push.acceptedAt = now.advanced(by: .seconds(-60))
        if hasWorked { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        var attempt = PushAttempt(push: push, outcome: outcome)
        attempt.isVoid = isVoid
        return OutcomeRules(
            routeFails: fails, refusals: rules ?? RefusalRules(), deliveredBundleIDs: topicHasWorked ? ["app"] : []
        ).decide(attempt, suspicion: suspicion, jitter: jitter)
    }

    private func failed(_ kind: FailureKind) -> AttemptOutcome { .failed(Failure(kind: kind, reason: .unknownText)) }

    /// Rules by which each refusal has a witness.
    private var witnessed: RefusalRules {
        var rules = RefusalRules()
        let time = now.advanced(by: .seconds(-1))
        rules.witnesses.record(
            topic: "app", target: Digest32(repeating: 9), provenAt: now.advanced(by: .seconds(-90_000)), postedAt: time, answeredAt: time)
        return rules
    }

    @Test func `every kind of failure has its consequence`() {
        #expect(decide(.sent) == PushDecision(disposition: .finish(.sent), token: .works))
        #expect(decide(failed(.deadToken)) == PushDecision(disposition: .finish(.deadToken), reason: .unknownText, token: .unregister))
        #expect(decide(failed(.deadToken), fails: true).token == .unregister)
        #expect(decide(failed(.transient)).disposition == .retry(after: BackOff.push.first, isUnknown: false))
        #expect(decide(failed(.operatorFault)).disposition == .retry(after: BackOff.patient.first, isUnknown: false))
        #expect(decide(.unknown(reason: .noResponse)).disposition == .retry(after: BackOff.push.first, isUnknown: true))
        #expect(decide(.notSent(reason: .unavailable)).disposition == .releaseLease)
    }

    @Test(arguments: [FailureKind.credentials, .topic, .quota, .deviceQuota])
    func `a fault that the operator or time corrects loses no device and no push`(kind: FailureKind) {
        let decision = PushDecision(disposition: .retry(after: BackOff.patient.first, isUnknown: false), reason: .unknownText)
        #expect(decide(failed(kind)) == decision)
    }

    @Test(arguments: ["TooManyRequests", "Quota exceeded for quota metric 'x'", "Resource has been exhausted (e.g. check quota)."])
    func `a quota is waited for a minute, doubling to ten minutes`(words: String) {
        for (attempts, seconds) in [(1, 60), (2, 120), (3, 240), (4, 480), (5, 600), (99, 600)] {
            let decision = decide(.failed(FailureTaxonomy.classify(words)), attempts: attempts)
            #expect(decision.disposition == .retry(after: .seconds(seconds), isUnknown: false) && decision.token == .none)
        }
        #expect(
            decide(.failed(FailureTaxonomy.classify("ServiceUnavailable"))).disposition == .retry(after: .seconds(2), isUnknown: false))
    }

    @Test("A push to an unproven target expires after ten attempts", arguments: [FailureKind.refusedDevice, .topic, .refusedPush])
    func givenUp(kind: FailureKind) {
        func decision(_ attempts: Int, fails: Bool = false) -> PushDecision {
            decide(failed(kind), attempts: attempts, fails: fails, hasWorked: false, topicHasWorked: false)
        }
        if case .retry = decision(9).disposition {} else { Issue.record() }
        #expect(decision(10).disposition == .finish(.expired))
        // Others wait for the operator, and so do those of a route that fails for everybody.
        #expect(decide(failed(kind), attempts: 10).disposition != .finish(.expired))
        #expect(decision(10, fails: true).disposition != .finish(.expired))
    }

    @Test(arguments: [FailureKind.transient, .credentials, .operatorFault, .quota, .deviceQuota])
    func `a fault that untrusted clients cannot cause finishes no push, even to a new device`(kind: FailureKind) {
        let decision = decide(failed(kind), attempts: 99, hasWorked: false, topicHasWorked: false)
        if case .retry = decision.disposition {} else { Issue.record("\(decision)") }
    }

    // MARK: Refusals

    @Test func `a push is refused for good after three refusals that count`() {
        for count in 0..<2 {
            let refusals = PushRefusals(refusedAt: now.advanced(by: .seconds(-2)), countedCount: count)
            let decision = decide(failed(.refusedPush), attempts: 3, refusals: refusals, rules: witnessed)
            #expect(decision.disposition == .retry(after: .seconds(8), isUnknown: false))
            #expect(decision.refusals == PushRefusals(refusedAt: now, countedCount: count + 1))
        }
        let refusals = PushRefusals(refusedAt: now.advanced(by: .seconds(-2)), countedCount: 2)
        #expect(decide(failed(.refusedPush), refusals: refusals, rules: witnessed).disposition == .finish(.refused))
        // Without a witness it waits for as long as it may.
        #expect(
            decide(failed(.refusedPush), attempts: 99, refusals: refusals).disposition == .retry(after: .seconds(600), isUnknown: false))
    }

    @Test func `a push that is too long is attempted once without its ciphertext, and then goes on whole`() {
        let first = decide(failed(.tooLong))
        #expect(first.disposition == .retry(after: .zero, isUnknown: false) && first.refusals?.shortening == .next)
        let refused = decide(failed(.tooLong), attempts: 2, refusals: PushRefusals(refusedAt: now, shortening: .next))
        #expect(refused.disposition == .retry(after: .seconds(4), isUnknown: false) && refused.refusals?.shortening == .refused)
        let again = decide(failed(.tooLong), attempts: 3, refusals: PushRefusals(refusedAt: now, shortening: .refused))
        #expect(again.disposition == .retry(after: .seconds(8), isUnknown: false) && again.refusals?.shortening == .refused)
        #expect(decide(failed(.tooLong), ciphertext: []).refusals?.shortening == PushRefusals.Shortening.none)
        // A failure of the moment says nothing about the short one.
        #expect(decide(failed(.transient), refusals: PushRefusals(refusedAt: now, shortening: .next)).refusals == nil)
    }

    @Test func `words about a device never finish a push, and grow the delay of the device`() {
        var suspicion = Suspicion(since: now.advanced(by: .seconds(-99)), refusedAt: now.advanced(by: .seconds(-9)), refusalCount: 3)
        let decision = decide(failed(.refusedDevice), attempts: 1, suspicion: suspicion)
        #expect(decision.disposition == .retry(after: .seconds(16), isUnknown: false))
        suspicion.refusedAt = now
        suspicion.refusalCount = 4
        #expect(decision.token == .suspect(suspicion))
    }

    @Test func `a refusal that a delivery has overtaken raises no suspicion`() {
        #expect(decide(failed(.refusedDevice), isVoid: true).token == .none)
        #expect(decide(failed(.refusedDevice)).token != .none)
    }

    // MARK: Outages

    @Test(arguments: 0...2)
    func `an attempt without a response is retried after 150 s while fewer than three count`(count: Int) {
        for fails in [false, true] {
            let decision = decide(.timedOut(count: count), attempts: 1, fails: fails)
            #expect(decision.disposition == .retry(after: OutcomeRules.timeOutInterval, isUnknown: true))
        }
        #expect(decide(.timedOut(count: 3)).disposition == .finish(.expired))
    }

    @Test func `while the route fails, all pushes wait alike, and only a success and a 410 are final`() {
        let kinds = [FailureKind.transient, .refusedPush, .refusedDevice, .tooLong, .credentials, .quota, .topic, .operatorFault]
        for outcome in kinds.map(failed) + [.unknown(reason: .noResponse)] {
            let decision = decide(outcome, attempts: 7, fails: true, ciphertext: [], jitter: 0)
            guard case .retry(let delay, _) = decision.disposition else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(delay == OutcomeRules.outageInterval)
        }
    }

    @Test func `each failed attempt lengthens the delay, and jitter shortens it`() {
        #expect(decide(failed(.transient), attempts: 3).disposition == .retry(after: .seconds(8), isUnknown: false))
        #expect(decide(failed(.operatorFault), attempts: 9).disposition == .retry(after: .seconds(600), isUnknown: false))
        #expect(
            decide(.unknown(reason: .noResponse), attempts: 2, jitter: 0.25).disposition == .retry(after: .seconds(1), isUnknown: true))
    }
}
