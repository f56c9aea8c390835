import TestSupport
import Testing
import Wire

@testable import Delivery

@Suite(.safetyNet) struct InvalidTokenSurgeTests {
    private var surge = InvalidTokenSurge(share: 0.3)

    private mutating func judge(_ devices: Range<Int>, areTurnedDown: Bool, at time: Duration = .zero, haveWorked: Bool = true) {
        surge.record(devices.map { .init(device: $0, isTurnedDown: areTurnedDown, hasWorked: haveWorked) }, at: time)
    }

    @Test(
        "Thirty of the last hundred devices make one, in whatever order they come; of fewer, ten",
        arguments: [(0, 9, false), (0, 10, true), (20, 9, false), (70, 30, true), (71, 29, false), (1_000, 29, false), (1_000, 30, true)])
    mutating func share(working: Int, dead: Int, isOn: Bool) {
        judge(dead..<dead + working, areTurnedDown: false)
        judge(0..<dead, areTurnedDown: true)
        #expect(surge.isOn(at: .zero) == isOn)
    }

    @Test mutating func `Two devices never make one, however often they are judged`() {
        for second in 0..<3_600 { judge(0..<2, areTurnedDown: true, at: .seconds(second)) }
        #expect(!surge.isOn(at: .seconds(3_600)))
    }

    @Test mutating func `Tokens that never worked count for nothing, however many and however often`() {
        for second in 0..<100 { judge(0..<100, areTurnedDown: true, at: .seconds(second), haveWorked: false) }
        #expect(!surge.isOn(at: .seconds(99)))
        // Nor do they hide what happens to others.
        judge(100..<110, areTurnedDown: true)
        #expect(surge.isOn(at: .zero))
    }

    @Test mutating func `What has taken a push in this process has worked`() {
        judge(0..<10, areTurnedDown: false, haveWorked: false)
        judge(0..<9, areTurnedDown: true, at: .seconds(1), haveWorked: false)
        #expect(!surge.isOn(at: .seconds(1)))
        judge(9..<10, areTurnedDown: true, at: .seconds(1), haveWorked: false)
        #expect(surge.isOn(at: .seconds(1)))
    }

    @Test func `A token is another device with another bundle id`() {
        let tokens = ["app", "invented"].map { TriedToken("a1", .apn, apnTopic: $0) } + [TriedToken("a1", .firebase, apnTopic: "app")]
        let devices = tokens.map { InvalidTokenSurge.Verdict($0, isTurnedDown: true).device }
        #expect(devices[0] != devices[1])
        #expect(Set(tokens.map(\.digest)).count == 3)
        #expect(TriedToken("a1", .firebase, apnTopic: "x").digest == tokens[2].digest)
    }

    @Test mutating func `Verdicts of more than a quarter of an hour ago do not count`() {
        judge(0..<9, areTurnedDown: true)
        judge(9..<10, areTurnedDown: true, at: InvalidTokenSurge.window)
        #expect(!surge.isOn(at: InvalidTokenSurge.window))
        judge(0..<30, areTurnedDown: true, at: InvalidTokenSurge.window)
        #expect(surge.isOn(at: InvalidTokenSurge.window))
        #expect(!surge.isOn(at: InvalidTokenSurge.window * 2))
    }

    @Test mutating func `It lasts while devices are turned down, and ends when most of them take pushes again`() {
        judge(0..<40, areTurnedDown: true)
        for round in 1...20 {
            judge(0..<40, areTurnedDown: true, at: .seconds(600 * round))
            #expect(surge.isOn(at: .seconds(600 * round)))
        }
        // Two of them are dead indeed, and are tried again and again.
        judge(2..<27, areTurnedDown: false, at: .seconds(12_001))
        #expect(surge.isOn(at: .seconds(12_001)))
        judge(27..<40, areTurnedDown: false, at: .seconds(12_001))
        #expect(!surge.isOn(at: .seconds(12_001)))
        for second in 0..<100 {
            judge(0..<2, areTurnedDown: true, at: .seconds(12_002 + second))
            #expect(!surge.isOn(at: .seconds(12_002 + second)))
        }
    }

    @Test mutating func `It ends when nothing waits for that any more, and nothing of it is left`() {
        judge(0..<40, areTurnedDown: true)
        surge.end()
        #expect(!surge.isOn(at: .zero))
        judge(0..<1, areTurnedDown: true)
        #expect(!surge.isOn(at: .zero))
        // What has made none yet is kept.
        judge(1..<9, areTurnedDown: true)
        surge.end()
        judge(9..<10, areTurnedDown: true)
        #expect(surge.isOn(at: .zero))
    }
}
