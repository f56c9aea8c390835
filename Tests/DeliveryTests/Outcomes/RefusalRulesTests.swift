import Bytes
import Envelope
import Store
import TestSupport
import Testing

@testable import Delivery

/// Which refusals count, and when a device is unregistered (DELIVERY_RULES.md "Is the phone gone").
@Suite(.safetyNet) struct RefusalRulesTests {
    private let target = Digest32(repeating: 1)
    private let other = Digest32(repeating: 2)

    private func time(_ seconds: Int) -> Timestamp { World.start.advanced(by: .seconds(seconds)) }

    private func refusal(at seconds: Int, isCall: Bool = false) -> RefusalRules.Refusal {
        RefusalRules.Refusal(
            topic: "app", target: target, isProven: true, postedAt: time(seconds), answeredAt: time(seconds), isCall: isCall)
    }

    /// Rules with a delivery to a device.
    private func rules(
        deliveryAt seconds: Int, to device: Digest32? = nil, topic: String = "app", provenAt: Int = -9_000, oldest: Int? = nil
    ) -> RefusalRules {
        var rules = RefusalRules(oldestSuspicion: oldest.map(time))
        rules.witnesses.record(
            topic: topic, target: device ?? other, provenAt: time(provenAt), postedAt: time(seconds), answeredAt: time(seconds))
        return rules
    }

    private func counts(_ rules: RefusalRules, after suspicion: Suspicion, at seconds: Int) -> Bool? {
        rules.judge(refusal(at: seconds), after: suspicion).map { $0.suspicion.countedCount > suspicion.countedCount }
    }

    @Test func `the first refusal of a device never counts`() throws {
        let judgement = try #require(rules(deliveryAt: -1).judge(refusal(at: 0), after: nil))
        #expect(judgement.suspicion == Suspicion(since: time(0), refusedAt: time(0)) && !judgement.isDead && !judgement.hasWitness)
    }

    @Test(arguments: [(100, true), (109, true), (99, false), (111, false)])
    func `a refusal counts if another device was delivered to since the one before`(delivery: Int, counted: Bool) {
        let suspicion = Suspicion(since: time(0), refusedAt: time(100))
        #expect(counts(rules(deliveryAt: delivery), after: suspicion, at: 110) == counted)
    }

    @Test func `a witness is another device of the bundle id that was proven before the oldest suspicion of the route`() {
        let suspicion = Suspicion(since: time(0), refusedAt: time(100))
        func counted(_ rules: RefusalRules) -> Bool? { counts(rules, after: suspicion, at: 110) }
        #expect(counted(rules(deliveryAt: 105, to: target)) == false)
        #expect(counted(rules(deliveryAt: 105, topic: "other")) == false)
        // Proven after this device was refused, or after another one was.
        #expect(counted(rules(deliveryAt: 105, provenAt: -1)) == true)
        #expect(counted(rules(deliveryAt: 105, provenAt: 0)) == false)
        #expect(counted(rules(deliveryAt: 105, provenAt: -500, oldest: -499)) == true)
        #expect(counted(rules(deliveryAt: 105, provenAt: -500, oldest: -500)) == false)
    }

    @Test func `a device is unregistered after three refusals that count, the last an hour after the first of them`() {
        func judge(_ count: Int, firstAt: Int?, deliveryAt: Int = 1_001, believes: Bool = true) -> RefusalRules.Judgement? {
            let suspicion = Suspicion(
                since: time(0), refusedAt: time(1_000), refusalCount: 9, countedCount: count, firstCountedAt: firstAt.map(time))
            var rules = rules(deliveryAt: deliveryAt)
            rules.believesVerdicts = believes
            return rules.judge(refusal(at: 1_002), after: suspicion)
        }
        #expect(judge(2, firstAt: -2_598)?.isDead == true && judge(9, firstAt: -3_000)?.isDead == true)
        #expect(judge(2, firstAt: -2_597)?.isDead == false && judge(1, firstAt: -3_000)?.isDead == false)
        // The last of them counts too, however many have counted before.
        #expect(judge(9, firstAt: -3_000, deliveryAt: 999)?.isDead == false)
        // A mixed or failing route counts nothing, and puts what counted before in doubt.
        let mixed = judge(2, firstAt: -2_598, believes: false)
        #expect(mixed?.isDead == false && mixed?.hasWitness == true && mixed?.suspicion.refusalCount == 10)
        #expect(mixed?.suspicion.countedCount == 0 && mixed?.suspicion.firstCountedAt == nil)
    }

    @Test func `an attempt that was posted before the newest refusal says nothing more`() {
        let suspicion = Suspicion(since: time(0), refusedAt: time(100))
        #expect(rules(deliveryAt: 99).judge(refusal(at: 99), after: suspicion) == nil)
    }

    @Test func `a call counts as another refusal at most once a minute`() {
        let suspicion = Suspicion(since: time(0), refusedAt: time(100))
        #expect(rules(deliveryAt: 110).judge(refusal(at: 159, isCall: true), after: suspicion) == nil)
        #expect(rules(deliveryAt: 110).judge(refusal(at: 160, isCall: true), after: suspicion)?.suspicion.countedCount == 1)
    }

    @Test func `refusals of a push count in the same way, next to devices that were proven before it was accepted`() {
        let rules = rules(deliveryAt: 105, provenAt: -10)
        let refused = PushRefusals(refusedAt: time(100), countedCount: 1)
        #expect(rules.judge(refusal(at: 110), after: PushRefusals(), acceptedAt: time(0)) == PushRefusals(refusedAt: time(110)))
        #expect(rules.judge(refusal(at: 110), after: refused, acceptedAt: time(0)).countedCount == 2)
        #expect(rules.judge(refusal(at: 110), after: refused, acceptedAt: time(-10)).countedCount == 1)
        #expect(rules.judge(refusal(at: 104), after: refused, acceptedAt: time(0)).countedCount == 1)
    }

    @Test func `of the deliveries within a second, those to the devices that were proven first are kept`() {
        var witnesses = Witnesses()
        for number in 1...200 {
            // Newer devices first.
            let provenAt = time(-number)
            let answered = time(50).advanced(by: .milliseconds(number))
            witnesses.record(
                topic: "app", target: Digest32(repeating: UInt8(number)), provenAt: provenAt, postedAt: time(50), answeredAt: answered)
        }
        func testify(_ device: Int, before provenAt: Int) -> Bool {
            witnesses.testify(
                for: "app", besides: Digest32(repeating: UInt8(device)), provenBefore: time(provenAt), between: time(50), and: time(51))
        }
        #expect(testify(200, before: -198) && testify(199, before: -199) && !testify(200, before: -199))
        // Hours of deliveries to new devices displace them, so refusals then count later.
        for second in 60..<1_000 {
            witnesses.record(topic: "app", target: other, provenAt: time(0), postedAt: time(second), answeredAt: time(second))
        }
        #expect(!testify(1, before: -1))
    }
}
