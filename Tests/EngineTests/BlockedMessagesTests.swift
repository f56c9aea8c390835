import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Testing

@testable import Engine

/// Messages that wait for a row which another session holds.
@Suite struct BlockedMessagesTests {
    private typealias Subject = BlockedMessages.Subject

    private var blocked = BlockedMessages()
    private let phone = Subject.owner(Digest64(repeating: 1))
    private let tablet = Subject.owner(Digest64(repeating: 2))

    private mutating func admit(_ rows: [Int64], _ subjects: [Subject]) -> BlockedMessages.Admittance { blocked.admit(rows, subjects) }
    private mutating func startTrials(at now: Duration) -> [Int64] { blocked.startTrials(at: now).sorted() }
    private mutating func succeeded(_ subjects: [Subject]) -> [Int64] { blocked.succeeded(subjects).sorted() }

    @Test mutating func `messages about a blocked owner wait, and others pass`() {
        blocked.failed([1], [.message(1), phone], at: .zero)
        #expect(admit([2], [.message(2), phone]) == .no)
        #expect(admit([3], [.message(3), tablet]) == .together)
        #expect(admit([4], [.message(4), tablet, phone]) == .no)
    }

    @Test mutating func `the first message is tried alone after 1 s, then after a delay that doubles to 30 s`() {
        var now = Duration.zero
        blocked.failed([1], [phone], at: now)
        for delay in [1, 2, 4, 8, 16, 30, 30].map({ Duration.seconds($0) }) {
            #expect(blocked.nextTrialTime == now + delay)
            #expect(startTrials(at: now + delay - .milliseconds(1)).isEmpty)
            now += delay
            #expect(startTrials(at: now) == [1])
            #expect(admit([1], [phone]) == .alone)
            blocked.failed([1], [phone], at: now)
            #expect(admit([1], [phone]) == .no)
        }
    }

    @Test mutating func `the messages of a batch that fail together are one failure`() {
        for row: Int64 in 1...10 { blocked.failed([row], [phone], at: .zero) }
        #expect(blocked.count == 10 && blocked.nextTrialTime == .seconds(1))
        #expect(startTrials(at: .seconds(1)) == [1])
        blocked.failed([1], [phone], at: .seconds(1))
        #expect(blocked.nextTrialTime == .seconds(3))
    }

    @Test mutating func `the messages of a blocked owner are tried in turn, because a row of one alone may be locked`() {
        blocked.failed([1], [phone], at: .zero)
        #expect(admit([2], [phone]) == .no)
        #expect(blocked.count == 2)
        for (time, row) in [(1, 1), (3, 2), (7, 1)] as [(Int, Int64)] {
            #expect(startTrials(at: .seconds(time)) == [row])
            #expect(admit([3 - row], [phone]) == .no)
            #expect(admit([row], [phone]) == .alone)
            blocked.failed([row], [phone], at: .seconds(time))
        }
    }

    @Test mutating func `once a trial succeeds, all that waited return`() {
        blocked.failed([1, 10], [.message(1), phone], at: .zero)
        _ = blocked.admit([2, 20], [.message(2), phone])
        _ = blocked.admit([3], [.message(3), phone])
        #expect(startTrials(at: .seconds(1)) == [1, 10])
        #expect(succeeded([.message(1), phone]) == [2, 3, 20])
        #expect(blocked.isEmpty)
        #expect(admit([4], [phone]) == .together)
    }

    @Test mutating func `a trial whose message another server has decided makes way for the next`() {
        blocked.failed([1], [phone], at: .zero)
        _ = blocked.admit([2], [phone])
        #expect(startTrials(at: .seconds(1)) == [1])
        #expect(startTrials(at: .seconds(3)) == [2])
        #expect(startTrials(at: .seconds(5)).isEmpty)
        #expect(blocked.isEmpty && blocked.nextTrialTime == nil)
    }

    @Test mutating func `trials that take long are rare: a twentieth of the writer's time`() {
        blocked.failed([1], [.message(1)], at: .seconds(1), after: .seconds(1))
        blocked.failed([2], [.message(2)], at: .seconds(2), after: .seconds(1))
        #expect(blocked.nextTrialTime == .seconds(21))
        #expect(startTrials(at: .seconds(21)) == [1])
        #expect(startTrials(at: .seconds(41)) == [2])
    }
}
