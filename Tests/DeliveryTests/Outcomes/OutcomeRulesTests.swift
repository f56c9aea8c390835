import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Delivery

/// The consequences of an attempt, without a clock, a network or a database.
@Suite(.safetyNet) struct OutcomeRulesTests {
    private let now = World.start

    private func decide(
        _ outcome: AttemptOutcome, hasWorked: Bool = true, suspicion: Suspicion? = nil, refusals: PushRefusals = PushRefusals(),
        ciphertext: [UInt8] = [1], rules: RefusalRules? = nil, ownDelay: Duration = .seconds(7), isCall: Bool = false
    ) -> PushDecision {
        var push = queued([iosPush(1, topic: "app")])[0]
        push.push.message = ciphertext
        push.refusals = refusals
        push.acceptedAt = now.advanced(by: .seconds(-60))
        if hasWorked { push.tokenDeliveries = Deliveries(first: World.start, last: World.start) }
        if isCall {
            push.notification = GatewayNotification(platform: .ios, token: push.push.deviceToken, kind: .voip, priority: .high, data: [:])
            push.notification?.isCall = true
        }
        let attempt = PushAttempt(push: push, outcome: outcome, kind: isCall ? .call : .retry, ownDelay: ownDelay)
        return OutcomeRules(refusals: rules ?? RefusalRules()).decide(attempt, suspicion: suspicion)
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

    @Test func `every kind of outcome has its consequence`() {
        #expect(decide(.sent) == PushDecision(disposition: .finish(.sent), token: .works))
        #expect(decide(failed(.deadToken)) == PushDecision(disposition: .finish(.deadToken), reason: .unknownText, token: .unregister))
        #expect(decide(.unknown(reason: .noResponse)).disposition == .retry(after: .seconds(7), isUnknown: true))
        #expect(decide(.passing(reason: .unavailable, retryAfter: nil)).disposition == .retry(after: .seconds(7), isUnknown: false))
        #expect(decide(.notSent(reason: .unavailable)).disposition == .release)
    }

    @Test(
        arguments: [FailureKind.transient, .credentials, .topic, .quota, .deviceQuota, .operatorFault, .unknown], [true, false])
    func `a fault that the operator or time corrects loses no device and no push`(kind: FailureKind, hasWorked: Bool) {
        let decision = PushDecision(disposition: .retry(after: .seconds(7), isUnknown: false), reason: .unknownText)
        #expect(decide(failed(kind), hasWorked: hasWorked) == decision)
    }

    @Test func `a call is attempted once`() {
        for outcome in [.unknown(reason: .noResponseInTime), .broken, failed(.transient), failed(.refusedPush)] {
            #expect(decide(outcome, isCall: true).disposition == .finish(.expired))
        }
    }

    @Test func `a push is refused for good after three refusals that count`() {
        for count in 0..<2 {
            let refusals = PushRefusals(refusedAt: now.advanced(by: .seconds(-2)), countedCount: count)
            let decision = decide(failed(.refusedPush), refusals: refusals, rules: witnessed)
            #expect(decision.disposition == .retry(after: .seconds(7), isUnknown: false))
            #expect(decision.refusals == PushRefusals(refusedAt: now, countedCount: count + 1))
        }
        let refusals = PushRefusals(refusedAt: now.advanced(by: .seconds(-2)), countedCount: 2)
        #expect(decide(failed(.refusedPush), refusals: refusals, rules: witnessed).disposition == .finish(.refused))
        // Without a witness it waits for as long as it may.
        #expect(decide(failed(.refusedPush), refusals: refusals).disposition == .retry(after: .seconds(7), isUnknown: false))
    }

    @Test func `a push that is too long is attempted once without its ciphertext, and then goes on whole`() {
        let first = decide(failed(.tooLong))
        #expect(first.disposition == .retry(after: .zero, isUnknown: false) && first.refusals?.shortening == .next)
        let refused = decide(failed(.tooLong), refusals: PushRefusals(refusedAt: now, shortening: .next))
        #expect(refused.disposition == .retry(after: .seconds(7), isUnknown: false) && refused.refusals?.shortening == .refused)
        #expect(decide(failed(.tooLong), refusals: PushRefusals(refusedAt: now, shortening: .refused)).refusals?.shortening == .refused)
        #expect(decide(failed(.tooLong), ciphertext: []).refusals?.shortening == PushRefusals.Shortening.none)
        // A failure of the moment says nothing about the short one.
        #expect(decide(failed(.transient), refusals: PushRefusals(refusedAt: now, shortening: .next)).refusals == nil)
    }

    @Test func `words about a device are remembered against it`() {
        var suspicion = Suspicion(since: now.advanced(by: .seconds(-99)), refusedAt: now.advanced(by: .seconds(-9)), refusalCount: 3)
        let decision = decide(failed(.refusedDevice), suspicion: suspicion)
        #expect(decision.disposition == .retry(after: .seconds(7), isUnknown: false))
        suspicion.refusedAt = now
        suspicion.refusalCount = 4
        #expect(decision.token == .suspect(suspicion))
    }

    @Test(arguments: [(3_600, true), (3_599, false)])
    func `the third refusal that counts gives a device up after an hour, and unregisters only one that has worked`(
        age: Int, isEnough: Bool
    ) {
        let suspicion = Suspicion(
            since: now.advanced(by: .seconds(-9_000)), refusedAt: now.advanced(by: .seconds(-2)), refusalCount: 3, countedCount: 2,
            firstCountedAt: now.advanced(by: .seconds(-age)))
        let proven = decide(failed(.refusedDevice), suspicion: suspicion, rules: witnessed)
        #expect((proven.token == .unregister) == isEnough && (proven.disposition == .finish(.deadToken)) == isEnough)
        let new = decide(failed(.refusedDevice), hasWorked: false, suspicion: suspicion, rules: witnessed)
        if case .giveUp = new.token { #expect(isEnough) } else { #expect(!isEnough) }
        #expect((new.disposition == .finish(.expired)) == isEnough)
    }
}
