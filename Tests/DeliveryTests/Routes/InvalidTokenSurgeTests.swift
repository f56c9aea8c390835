import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct InvalidTokenSurgeTests {
    @Test(
        "A share of the verdicts of a minute makes a surge",
        arguments: [
            (total: 100, turnedDown: 30, isSurge: true), (100, 29, false), (10, 10, true), (9, 9, false), (1_000, 10, false),
            (33, 10, true),
        ])
    func share(total: Int, turnedDown: Int, isSurge: Bool) {
        var surge = InvalidTokenSurge(share: 0.3)
        for number in 0..<total { surge.record(.init(total: 1, turnedDown: number < turnedDown ? 1 : 0), at: .milliseconds(number)) }
        // What comes first must not look like a surge by itself.
        #expect(surge.isOn(at: .seconds(1)) == isSurge || turnedDown >= InvalidTokenSurge.minimumCount)
        var late = InvalidTokenSurge(share: 0.3)
        late.record(.init(total: total - turnedDown, turnedDown: 0), at: .zero)
        for _ in 0..<turnedDown { late.record(.init(total: 1, turnedDown: 1), at: .milliseconds(1)) }
        #expect(late.isOn(at: .seconds(1)) == isSurge)
    }

    @Test func `Verdicts of more than a minute ago do not count`() {
        var surge = InvalidTokenSurge(share: 0.3)
        surge.record(.init(total: 9, turnedDown: 9), at: .zero)
        surge.record(.init(total: 1, turnedDown: 1), at: InvalidTokenSurge.window)
        #expect(!surge.isOn(at: InvalidTokenSurge.window))
        surge.record(.init(total: 9, turnedDown: 9), at: InvalidTokenSurge.window + .seconds(1))
        #expect(surge.isOn(at: InvalidTokenSurge.window + .seconds(1)))
    }

    @Test func `A surge lasts while the little that is tried is turned down, and ends when devices take pushes again`() {
        var surge = InvalidTokenSurge(share: 0.3)
        surge.record(.init(total: 10, turnedDown: 10), at: .zero)
        var now = Duration.zero
        for _ in 1...20 {
            now += .seconds(600)
            surge.record(.init(total: 1, turnedDown: 1), at: now)
            #expect(surge.isOn(at: now))
        }
        let last = now
        now += .seconds(600)
        surge.record(.init(total: 50, turnedDown: 1), at: now)
        #expect(surge.isOn(at: last + InvalidTokenSurge.holdingTime - .seconds(1)))
        #expect(!surge.isOn(at: last + InvalidTokenSurge.holdingTime))
    }
}
