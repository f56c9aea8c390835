import Envelope
import TestSupport
import Testing
import WakuREST

@testable import Transport

/// The choice of the node that publishes the next message.
@Suite(.safetyNet) struct PublishNodeSelectorTests {
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    var selector = PublishNodeSelector(count: 3, limit: nil)

    mutating func acquire(besides excluded: Set<Int> = [], troubled: Set<Int> = [], after delay: Duration = .zero) -> Int? {
        selector.acquire(besides: excluded, troubled: troubled, at: Self.now.advanced(by: delay))
    }

    @Test mutating func `nodes alternate, one message at a time each`() {
        #expect((0..<4).map { _ in acquire() } == [0, 1, 2, nil])
        selector.release(1, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        #expect(acquire() == 1)
        selector.release(2, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        selector.release(0, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        #expect(acquire() == 2)
        #expect(acquire() == 0)
    }

    @Test mutating func `a message is not sent to the same node twice`() {
        #expect(acquire(besides: [0]) == 1)
        #expect(acquire(besides: [0, 1]) == 2)
        #expect(acquire(besides: [0, 1]) == nil)
    }

    @Test mutating func `a node that failed pauses, longer each time, unless no other is left`() {
        _ = acquire()
        selector.release(0, after: .failed, at: Self.now)
        #expect(acquire(besides: [1, 2]) == 0)
        selector.release(0, after: .failed, at: Self.now)
        #expect((0..<3).map { _ in acquire(after: .seconds(1)) } == [1, 2, nil])
        #expect(acquire(after: .seconds(2)) == 0)
        selector.release(0, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        #expect(acquire() == 0)
    }

    @Test mutating func `a node with an issue is selected when no other is left`() {
        #expect(acquire(troubled: [0]) == 1)
        #expect(acquire(troubled: [0]) == 2)
        #expect(acquire(troubled: [0]) == nil)
        #expect(acquire(besides: [1, 2], troubled: [0]) == 0)
    }

    @Test mutating func `a node that fails four times in a row is broken until it accepts a message`() {
        for count in 1...4 {
            _ = acquire(besides: [1, 2])
            selector.release(0, after: .failed, at: Self.now)
            #expect(selector.isBroken(0) == (count == 4))
        }
        _ = acquire(besides: [1, 2])
        selector.release(0, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        #expect(!selector.isBroken(0))
    }

    @Test mutating func `a node without quota pauses, and is not broken`() {
        for _ in 1...5 {
            _ = acquire(besides: [1, 2])
            selector.release(0, after: .quotaExhausted, at: Self.now)
        }
        #expect(selector.withoutQuota == [0])
        #expect(!selector.isBroken(0))
        #expect(acquire() == 1)
        _ = acquire(besides: [1, 2])
        selector.release(0, after: .failed, at: Self.now)
        #expect(selector.isBroken(0))
        #expect(selector.withoutQuota == [])
    }

    @Test(arguments: [(nil, 4), (1, 1), (3, 3)] as [(Int?, Int)])
    func `a go-waku node handles four messages at a time, unless the operator sets a number`(limit: Int?, count: Int) {
        var selector = PublishNodeSelector(count: 1, limit: limit)
        func acquire() -> Int? { selector.acquire(besides: [], troubled: [], at: Self.now) }
        _ = acquire()
        selector.release(0, after: .accepted(.goWaku, after: .milliseconds(5)), at: Self.now)
        #expect((0..<5).count { _ in acquire() != nil } == count)
        // One message that the node has answered makes room for one.
        let accepted = PublishNodeSelector.Outcome.accepted(.goWaku, after: .milliseconds(5))
        for outcome in [accepted, .failed, .quotaExhausted, .cancelled, .unused] {
            selector.release(0, after: outcome, at: Self.now)
            #expect((0..<2).map { _ in acquire() } == [0, nil])
        }
        selector.release(0, after: .accepted(.nwaku, after: .milliseconds(5)), at: Self.now)
        #expect((acquire() != nil) == (limit != nil))  // another node behind the same URL
    }

    @Test mutating func `a silent node gets one message at a time until it accepts one`() {
        selector = PublishNodeSelector(count: 2, limit: 3)
        #expect(acquire() == 0)
        selector.recordSilence(of: 0)
        #expect((0..<4).map { _ in acquire() } == [1, 1, 1, nil])
        selector.release(0, after: .cancelled, at: Self.now)  // The other node was first
        #expect(acquire() == nil)
        #expect((0..<2).map { _ in acquire(after: .seconds(1)) } == [0, nil])
        selector.release(0, after: .accepted(.nwaku, after: .seconds(2)), at: Self.now)
        #expect((0..<4).map { _ in acquire() } == [0, 0, 0, nil])
    }

    @Test mutating func `a node that is cancelled without having been silent does not pause`() {
        #expect(acquire() == 0)
        selector.release(0, after: .cancelled, at: Self.now)
        #expect((0..<3).map { _ in acquire() } == [1, 2, 0])
    }

    @Test mutating func `a node is silent after one second, or four times its usual time`() {
        #expect(selector.silence(of: 0) == .seconds(1))
        for (time, silence) in [(100, 1_000), (900, 1_000), (5_800, 3_600)] {
            _ = acquire(besides: [1, 2])
            selector.release(0, after: .accepted(.nwaku, after: .milliseconds(time)), at: Self.now)
            #expect(selector.silence(of: 0) == .milliseconds(silence))
        }
    }
}
