import Envelope
import TestSupport
import Testing
import WakuREST

@testable import Transport

/// Which node is asked to take a message.
@Suite(.safetyNet) struct PublishLanesTests {
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    var lanes = PublishLanes(count: 3, limit: nil)

    mutating func enter(besides tried: Set<Int> = [], troubled: Set<Int> = [], after delay: Duration = .zero) -> Int? {
        lanes.enter(besides: tried, troubled: troubled, at: Self.now.advanced(by: delay))
    }

    @Test mutating func `nodes take turns, one message at a time each`() {
        #expect((0..<4).map { _ in enter() } == [0, 1, 2, nil])
        lanes.leave(1, after: .taken(.nwaku), at: Self.now)
        #expect(enter() == 1)
        lanes.leave(2, after: .taken(.nwaku), at: Self.now)
        lanes.leave(0, after: .taken(.nwaku), at: Self.now)
        #expect(enter() == 2)
        #expect(enter() == 0)
    }

    @Test mutating func `a message is not given to the same node twice`() {
        #expect(enter(besides: [0]) == 1)
        #expect(enter(besides: [0, 1]) == 2)
        #expect(enter(besides: [0, 1]) == nil)
    }

    @Test mutating func `a node that failed rests, longer each time, unless no other is left`() {
        _ = enter()
        lanes.leave(0, after: .failed, at: Self.now)
        #expect(enter(besides: [1, 2]) == 0)
        lanes.leave(0, after: .failed, at: Self.now)
        #expect((0..<3).map { _ in enter(after: .seconds(1)) } == [1, 2, nil])
        #expect(enter(after: .seconds(2)) == 0)
        lanes.leave(0, after: .taken(.nwaku), at: Self.now)
        #expect(enter() == 0)
    }

    @Test mutating func `a node in trouble is asked when no other is left`() {
        #expect(enter(troubled: [0]) == 1)
        #expect(enter(troubled: [0]) == 2)
        #expect(enter(troubled: [0]) == nil)
        #expect(enter(besides: [1, 2], troubled: [0]) == 0)
    }

    @Test mutating func `a node that fails as often as a message is tried is broken until it takes one`() {
        for count in 1...4 {
            _ = enter(besides: [1, 2])
            lanes.leave(0, after: .failed, at: Self.now)
            #expect(lanes.isBroken(0) == (count == 4))
        }
        _ = enter(besides: [1, 2])
        lanes.leave(0, after: .taken(.nwaku), at: Self.now)
        #expect(!lanes.isBroken(0))
    }

    @Test mutating func `a node without quota is spared, and is neither broken nor forgotten until it takes one`() {
        for _ in 1...5 {
            _ = enter(besides: [1, 2])
            lanes.leave(0, after: .quotaUsedUp, at: Self.now)
        }
        #expect(lanes.withoutQuota == [0])
        #expect(!lanes.isBroken(0))
        #expect(enter() == 1)
        _ = enter(besides: [1, 2])
        lanes.leave(0, after: .failed, at: Self.now)
        #expect(lanes.isBroken(0))
        #expect(lanes.withoutQuota == [])
    }

    @Test(arguments: [(nil, 4), (1, 1), (3, 3)] as [(Int?, Int)])
    func `a go-waku node takes several at a time, unless the operator says how many`(limit: Int?, count: Int) {
        var lanes = PublishLanes(count: 1, limit: limit)
        func enter() -> Int? { lanes.enter(besides: [], troubled: [], at: Self.now) }
        _ = enter()
        lanes.leave(0, after: .taken(.goWaku), at: Self.now)
        #expect((0..<5).count { _ in enter() != nil } == count)
        lanes.leave(0, after: .taken(.nwaku), at: Self.now)
        #expect((enter() != nil) == (limit != nil))  // another node at the same place
    }
}
