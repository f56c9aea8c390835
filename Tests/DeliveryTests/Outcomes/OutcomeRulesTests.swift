import Concurrency
import Envelope
import Store
import TestSupport
import Testing

@testable import Delivery

/// What follows from an attempt, without a clock, a network or a database.
@Suite(.safetyNet) struct OutcomeRulesTests {
    private let now = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    private func decide(
        _ outcome: DeliveryOutcome, attempts: Int = 1, isSurge: Bool = false, hasCiphertext: Bool = true,
        suspectedFor: Duration? = nil, tokenHasWorked: Bool = true, topicHasWorked: Bool = true
    ) -> PushDecision {
        OutcomeRules(isSurge: isSurge, now: now).decide(
            outcome, on: TargetHistory(tokenHasWorked: tokenHasWorked, topicHasWorked: topicHasWorked), attempts: attempts,
            hasCiphertext: hasCiphertext,
            suspectedAt: suspectedFor.map { now.advanced(by: .zero - $0) }, jitter: 1)
    }

    private func failed(_ kind: FailureKind) -> DeliveryOutcome { .failed(Failure(kind: kind, reason: "r")) }

    @Test func `Every kind of failure has its consequence`() {
        #expect(decide(.sent).ending == .finish(.sent))
        #expect(decide(failed(.deadToken)) == PushDecision(ending: .finish(.deadToken), reason: "r", token: .unregister))
        #expect(decide(failed(.ourFault)) == PushDecision(ending: .finish(.refused), reason: "r"))
        #expect(decide(failed(.transient)).ending == .retry(after: BackOff.push.first, isUnknown: false))
        #expect(decide(failed(.operatorFault)).ending == .retry(after: BackOff.patient.first, isUnknown: false))
        #expect(decide(.refused(reason: "x")).ending == .finish(.refused))
        #expect(decide(.unknown(reason: "x")).ending == .retry(after: BackOff.push.first, isUnknown: true))
        #expect(decide(.notSent(reason: "x")).ending == .release)
    }

    @Test(arguments: [FailureKind.credentials, .topic])
    func `What an operator must put right costs no device and no push`(kind: FailureKind) {
        #expect(decide(failed(kind)) == PushDecision(ending: .retry(after: BackOff.patient.first, isUnknown: false), reason: "r"))
    }

    @Test func `A push that is never answered in time is tried twice more`() {
        #expect((0...1).allSatisfy { decide(.timedOut(before: $0)).ending == .retry(after: BackOff.push.first, isUnknown: true) })
        #expect(decide(.timedOut(before: 2)).ending == .finish(.expired))
    }

    @Test func `An ambiguous verdict is a suspicion first, and final when it is repeated later`() {
        let first = decide(failed(.wrongEnvironment))
        #expect(first.token == .suspect && first.ending == .retry(after: BackOff.push.first, isUnknown: false))
        let soon = decide(failed(.wrongEnvironment), suspectedFor: OutcomeRules.confirmationInterval - .nanoseconds(1))
        #expect(soon.token == .suspect && soon.ending == .retry(after: BackOff.push.first, isUnknown: false))
        let later = decide(failed(.wrongEnvironment), suspectedFor: OutcomeRules.confirmationInterval)
        #expect(later.token == .unregister && later.ending == .finish(.deadToken))
        #expect(decide(.sent).token == .works)
    }

    @Test func `With a bundle id that never worked, an ambiguous verdict says nothing of the device`() {
        let decision = decide(failed(.wrongEnvironment), suspectedFor: .seconds(9_999), topicHasWorked: false)
        #expect(decision == PushDecision(ending: .retry(after: BackOff.patient.first, isUnknown: false), reason: "r"))
        // Apple or Google speaks of that device alone.
        #expect(decide(failed(.deadToken), topicHasWorked: false).token == .unregister)
    }

    @Test(
        "What never worked is given up after ten attempts",
        arguments: [
            (FailureKind.deadToken, true), (.wrongEnvironment, true), (.ourFault, true), (.topic, false), (.wrongEnvironment, false),
        ])
    func givenUp(kind: FailureKind, isSurge: Bool) {
        for (attempts, ending) in [
            (9, PushDecision.Ending.retry(after: BackOff.patient.longest, isUnknown: false)), (10, .finish(.expired)),
        ] {
            let decision = decide(
                failed(kind), attempts: attempts, isSurge: isSurge, tokenHasWorked: false, topicHasWorked: isSurge)
            #expect(decision == PushDecision(ending: ending, reason: "r"))
        }
        // What worked once waits for its operator.
        #expect(decide(failed(kind), attempts: 10, isSurge: isSurge).ending != .finish(.expired))
    }

    @Test(arguments: [FailureKind.transient, .credentials, .operatorFault])
    func `What strangers cannot cause ends no push, however new its device`(kind: FailureKind) {
        let decision = decide(failed(kind), attempts: 99, tokenHasWorked: false, topicHasWorked: false)
        guard case .retry = decision.ending else {
            Issue.record("\(decision)")
            return
        }
    }

    @Test("In a surge nothing is final but a success", arguments: [FailureKind.deadToken, .wrongEnvironment, .ourFault])
    func surge(kind: FailureKind) {
        let decision = decide(failed(kind), isSurge: true, suspectedFor: .seconds(9_999))
        #expect(decision.token == .none && decision.ending == .retry(after: BackOff.patient.first, isUnknown: false))
        #expect(decide(.refused(reason: "x"), isSurge: true).ending == .retry(after: BackOff.patient.first, isUnknown: false))
        #expect(decide(.sent, isSurge: true).ending == .finish(.sent))
    }

    @Test func `What is too long is sent without its ciphertext; without one it is refused`() {
        let first = decide(failed(.tooLong))
        #expect(first.dropsCiphertext && first.ending == .retry(after: .zero, isUnknown: false))
        #expect(decide(failed(.tooLong), hasCiphertext: false).ending == .finish(.refused))
    }

    @Test func `Each attempt that fails makes the delay longer, and chance makes it shorter`() {
        #expect(decide(failed(.transient), attempts: 3).ending == .retry(after: .seconds(8), isUnknown: false))
        #expect(decide(failed(.operatorFault), attempts: 9).ending == .retry(after: .seconds(600), isUnknown: false))
        let decision = OutcomeRules(isSurge: false, now: now).decide(
            .unknown(reason: "x"), on: TargetHistory(tokenHasWorked: true, topicHasWorked: true), attempts: 2, hasCiphertext: true,
            suspectedAt: nil, jitter: 0.25)
        #expect(decision.ending == .retry(after: .seconds(1), isUnknown: true))
    }
}
