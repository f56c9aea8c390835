import Envelope
import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// The consequences of an attempt, without a clock, a network or a database.
@Suite(.safetyNet) struct OutcomeRulesTests {
    private let now = World.start

    /// Witnesses: a device that was proven before the first verdict has had a delivery since.
    private var witnesses: Witnesses {
        var witnesses = Witnesses()
        witnesses.record(topic: "app", provenAt: now.advanced(by: .seconds(-9_000)), deliveredAt: now.advanced(by: .seconds(-1)))
        return witnesses
    }

    private func decide(
        _ outcome: AttemptOutcome, attempts: Int = 1, fails: Bool = false, believes: Bool = true, isWitnessed: Bool = true,
        hasCiphertext: Bool = true, suspectedFor: Duration? = nil, tokenHasWorked: Bool = true, topicHasWorked: Bool = true,
        jitter: Double = 1
    ) -> PushDecision {
        OutcomeRules(routeFails: fails, believesVerdicts: believes, witnesses: isWitnessed ? witnesses : Witnesses()).decide(
            outcome,
            on: TargetHistory(
                topic: "app", tokenHasWorked: tokenHasWorked, topicHasWorked: topicHasWorked,
                suspectedAt: suspectedFor.map { now.advanced(by: .zero - $0) }),
            attempts: attempts, hasCiphertext: hasCiphertext, at: now, jitter: jitter)
    }

    private func failed(_ kind: FailureKind) -> AttemptOutcome { .failed(Failure(kind: kind, reason: "r")) }

    @Test func `every kind of failure has its consequence`() {
        #expect(decide(.sent) == PushDecision(disposition: .finish(.sent), token: .works))
        #expect(decide(failed(.deadToken)) == PushDecision(disposition: .finish(.deadToken), reason: "r", token: .unregister))
        #expect(decide(failed(.ourFault)) == PushDecision(disposition: .finish(.refused), reason: "r"))
        #expect(decide(failed(.transient)).disposition == .retry(after: BackOff.push.first, isUnknown: false))
        #expect(decide(failed(.operatorFault)).disposition == .retry(after: BackOff.patient.first, isUnknown: false))
        #expect(decide(.refused(reason: "x")).disposition == .finish(.refused))
        #expect(decide(.unknown(reason: "x")).disposition == .retry(after: BackOff.push.first, isUnknown: true))
        #expect(decide(.notSent(reason: "x")).disposition == .releaseLease)
    }

    @Test(arguments: [FailureKind.credentials, .topic])
    func `a fault that the operator must correct loses no device and no push`(kind: FailureKind) {
        #expect(decide(failed(kind)) == PushDecision(disposition: .retry(after: BackOff.patient.first, isUnknown: false), reason: "r"))
    }

    // MARK: Rule 3

    @Test
    func `an ambiguous verdict causes a suspicion, and counts after ten minutes if another device got a delivery`() {
        let first = decide(failed(.ambiguous))
        #expect(first.token == .suspect && first.disposition == .retry(after: OutcomeRules.confirmationInterval, isUnknown: false))
        let soon = decide(failed(.ambiguous), suspectedFor: OutcomeRules.confirmationInterval - .nanoseconds(1))
        #expect(soon == first)
        let later = decide(failed(.ambiguous), suspectedFor: OutcomeRules.confirmationInterval)
        #expect(later.token == .unregister && later.disposition == .finish(.deadToken))
        // A server with one device has no other delivery. The device stays registered, however many verdicts come.
        #expect(decide(failed(.ambiguous), attempts: 99, isWitnessed: false, suspectedFor: .seconds(80_000)) == first)
    }

    @Test func `while verdicts are not believed, no token is suspected, but a 410 still counts`() {
        let decision = decide(failed(.ambiguous), fails: true, believes: false, suspectedFor: .seconds(9_999))
        #expect(decision == PushDecision(disposition: .retry(after: OutcomeRules.outageInterval, isUnknown: false), reason: "r"))
        #expect(decide(failed(.deadToken), fails: true, believes: false).token == .unregister)
    }

    @Test("A push to an unproven target expires after ten attempts", arguments: [FailureKind.ambiguous, .topic])
    func givenUp(kind: FailureKind) {
        func decision(_ attempts: Int) -> PushDecision {
            decide(failed(kind), attempts: attempts, isWitnessed: false, tokenHasWorked: false, topicHasWorked: false)
        }
        if case .retry = decision(9).disposition {} else { Issue.record() }
        #expect(decision(10).disposition == .finish(.expired))
        // Pushes to a proven target wait for the operator.
        #expect(decide(failed(kind), attempts: 10, isWitnessed: false).disposition != .finish(.expired))
    }

    @Test(arguments: [FailureKind.transient, .credentials, .operatorFault])
    func `a fault that untrusted clients cannot cause finishes no push, even to a new device`(kind: FailureKind) {
        let decision = decide(failed(kind), attempts: 99, tokenHasWorked: false, topicHasWorked: false)
        if case .retry = decision.disposition {} else { Issue.record("\(decision)") }
    }

    // MARK: Rule 4

    @Test(arguments: 0...2)
    func `an attempt without a response is retried after 150 s while fewer than three count`(count: Int) {
        let decision = decide(.timedOut(count: count), attempts: 1)
        #expect(decision.disposition == .retry(after: OutcomeRules.outageInterval, isUnknown: true))
        #expect(decide(.timedOut(count: 3)).disposition == .finish(.expired))
    }

    @Test func `while the route fails, no push is attempted twice within 150 s, and only a success and a 410 are final`() {
        for outcome in [failed(.transient), .unknown(reason: "x"), failed(.ourFault), failed(.credentials), .refused(reason: "x")] {
            guard case .retry(let delay, _) = decide(outcome, fails: true, believes: false, jitter: 0).disposition else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(delay == OutcomeRules.outageInterval)
        }
    }

    @Test func `a push that is too long is sent without its ciphertext, and refused if it has none`() {
        let first = decide(failed(.tooLong))
        #expect(first.dropsCiphertext && first.disposition == .retry(after: .zero, isUnknown: false))
        #expect(decide(failed(.tooLong), hasCiphertext: false).disposition == .finish(.refused))
    }

    @Test func `each failed attempt lengthens the delay, and jitter shortens it`() {
        #expect(decide(failed(.transient), attempts: 3).disposition == .retry(after: .seconds(8), isUnknown: false))
        #expect(decide(failed(.operatorFault), attempts: 9).disposition == .retry(after: .seconds(600), isUnknown: false))
        #expect(decide(.unknown(reason: "x"), attempts: 2, jitter: 0.25).disposition == .retry(after: .seconds(1), isUnknown: true))
    }
}
