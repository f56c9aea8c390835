import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing

@testable import Transport

@Suite(.safetyNet)
struct TopicPollTests {
    var poll = TopicPoll(interval: .milliseconds(500), cacheShare: 40)

    func batch(_ count: Int) -> LiveBatch {
        LiveBatch(wanted: [.sample()], hashes: (0..<count).map { Digest32(repeating: UInt8($0)) })
    }

    @Test mutating func `the poll runs at its interval`() {
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .zero)
        poll.note(.took(LiveBatch()))
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .milliseconds(500))
        #expect(poll.action.issue == nil)
    }

    @Test mutating func `the poll takes no further batch before the last one is accepted`() {
        let batch = batch(1)
        poll.note(.took(batch))
        #expect(poll.action.work == .offer(batch))
        #expect(poll.action.delay == .zero)
        poll.note(.notRecorded)
        #expect(poll.action.work == .offer(batch))
        #expect(poll.action.delay == .milliseconds(500))
        #expect(poll.action.issue == nil)
        poll.note(.accepted)
        #expect(poll.action.work == .take)
        #expect(poll.action.issue == nil)
    }

    @Test mutating func `messages beyond the receiver's capacity are left to the store, and fetched once capacity is free`() {
        poll.note(.took(batch(1)))
        poll.note(.accepted)
        for _ in 1...2 {
            poll.note(.took(batch(1)))
            poll.note(.shed)
            #expect(poll.action.work == .take)
            #expect(poll.action.delay == .milliseconds(500))
            #expect(poll.action.issue == nil)
            #expect(poll.action.reception == nil)
        }
        poll.note(.took(batch(1)))
        #expect(poll.note(.accepted).reception == .gap(.shed))
        poll.note(.took(batch(1)))
        #expect(poll.note(.accepted).reception == nil)
    }

    @Test mutating func `without a store the batch is offered again`() {
        poll = TopicPoll(interval: .milliseconds(500), cacheShare: 40, usesHistory: false)
        poll.note(.took(batch(1)))
        poll.note(.shed)
        #expect(poll.action.work == .offer(batch(1)))
        #expect(poll.action.delay == .milliseconds(500))
        #expect(poll.action.issue == nil)
        #expect(poll.note(.accepted).reception == nil)
    }

    @Test mutating func `late messages do not count as a full cache`() {
        poll.note(.took(LiveBatch()))
        poll.note(.took(LiveBatch(wanted: [], hashes: (0..<40).map { Digest32(repeating: $0) }, reconsideredCount: 10)))
        #expect(poll.action.reception == nil)
    }

    @Test mutating func `the poll subscribes only when the node does not know the topic`() {
        poll.note(.notSubscribed)
        #expect(poll.action.work == .subscribe)
        poll.note(.subscribed)
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .zero)
        poll.note(.took(LiveBatch()))
        #expect(poll.action.issue == nil)
        poll.note(.notSubscribed)
        #expect(poll.action.work == .subscribe)
    }

    @Test mutating func `missed messages reveal that the node's cache is smaller than configured`() {
        poll = TopicPoll(interval: .milliseconds(500), cacheShare: 4_096)
        poll.note(.took(batch(50)))
        #expect(poll.action.reception == .gap(.start))
        poll.note(.accepted)
        poll.note(.took(batch(50)))
        #expect(poll.action.reception == nil)
        poll.note(.accepted)
        #expect(poll.action.delay == .milliseconds(500))
        #expect(poll.note(.missed).overflowCount == 50)
        #expect(!poll.action.hasOtherReader)
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .zero)
        poll.note(.took(batch(49)))
        #expect(poll.action.overflowCount == nil)
        #expect(poll.action.reception == nil)
        poll.note(.accepted)
        #expect(poll.action.delay == .zero)
        poll.note(.took(batch(50)))
        #expect(poll.action.reception == .gap(.overflow))
    }

    @Test mutating func `small batches reveal nothing about the size of the cache`() {
        poll.note(.took(batch(20)))
        poll.note(.accepted)
        #expect(poll.note(.missed).overflowCount == 39)
        #expect(poll.action.hasOtherReader)
        poll.note(.took(batch(20)))
        #expect(!poll.action.hasOtherReader)
        #expect(poll.action.reception == nil)
    }

    @Test mutating func `does not hurry when a subscription does not last`() {
        poll.note(.notSubscribed)
        poll.note(.subscribed)
        poll.note(.notSubscribed)
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .milliseconds(500))
        #expect(poll.action.issue == "the node does not keep the subscription")
    }

    @Test mutating func `waits longer after each failure, up to ten seconds, until one success`() {
        var delays: [Duration] = []
        for _ in 0..<7 {
            poll.note(.failed("down"))
            delays.append(poll.action.delay)
        }
        #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(10), .seconds(10)])
        poll.note(.took(LiveBatch()))
        poll.note(.failed("down"))
        #expect(poll.action.delay == .milliseconds(500))
    }

    @Test mutating func `a batch that cannot be recorded is offered again at least each second, and the node is not at fault`() {
        poll.note(.took(batch(1)))
        var delays: [Duration] = []
        for _ in 0..<4 {
            #expect(poll.note(.notRecorded).issue == nil)
            delays.append(poll.action.delay)
        }
        #expect(delays == [.milliseconds(500), .seconds(1), .seconds(1), .seconds(1)])
    }

    @Test(arguments: [(1, 500), (9, 500), (10, 0), (38, 0), (39, 0), (4_096, 0)])
    mutating func `a larger batch shortens the time to the next poll`(count: Int, milliseconds: Int) {
        poll.note(.took(LiveBatch()))
        poll.note(.took(LiveBatch(wanted: [], hashes: Array(repeating: Digest32(), count: count))))
        #expect(poll.action.delay == .zero)
        #expect(poll.action.reception == (count >= 39 ? .gap(.overflow) : nil))
        poll.note(.accepted)
        #expect(poll.action.work == .take)
        #expect(poll.action.delay == .milliseconds(milliseconds))
        #expect(poll.action.reception == nil)
    }

    @Test mutating func `the first messages leave a gap behind them`() {
        for event in [.failed("down"), .notSubscribed, .subscribed] as [TopicPoll.Event] {
            #expect(poll.note(event).reception == nil)
        }
        poll.note(.took(LiveBatch()))
        #expect(poll.action.reception == .gap(.start))
        poll.note(.took(LiveBatch()))
        #expect(poll.action.reception == nil)
    }

    @Test(
        arguments: [
            ([.failed("down")], Gap.outage), ([.notSubscribed, .subscribed], .resubscription),
            ([.failed("down"), .notSubscribed, .failed("down"), .subscribed], .outage),
        ] as [([TopicPoll.Event], Gap)])
    mutating func `each interruption of the messages leaves one gap`(events: [TopicPoll.Event], gap: Gap) {
        poll.note(.took(LiveBatch()))
        #expect(events.compactMap { poll.note($0).reception } == [.interrupted])
        poll.note(.took(batch(40)))
        #expect(poll.action.reception == .gap(gap))
        poll.note(.accepted)
        #expect(poll.action.reception == nil)
    }

    @Test mutating func `a batch that could not be recorded leaves no gap`() {
        poll.note(.took(LiveBatch()))
        poll.note(.took(batch(1)))
        poll.note(.notRecorded)
        #expect(poll.action.reception == nil)
        poll.note(.accepted)
        poll.note(.took(LiveBatch()))
        #expect(poll.action.reception == nil)
    }

    @Test func `polls are steady up to ten intervals or five seconds apart`() {
        let start = TestNode.start
        for (interval, longest) in [(Duration.milliseconds(500), Duration.seconds(5)), (.seconds(2), .seconds(20))] {
            var rhythm = PollRhythm(interval: interval)
            #expect(rhythm.isSteady(since: start, at: .seconds(100)))
            rhythm.polled(at: .zero, start)
            rhythm.polled(at: longest, start.advanced(by: longest))
            #expect(rhythm.isSteady(since: start, at: longest * 2))
            #expect(!rhythm.isSteady(since: start, at: longest * 2 + .nanoseconds(1)))
            let end = longest * 2 + .nanoseconds(1)
            rhythm.polled(at: end, start.advanced(by: end))
            #expect(!rhythm.isSteady(since: start, at: end))
            #expect(!rhythm.isSteady(since: start.advanced(by: end), at: end))
            #expect(rhythm.isSteady(since: start.advanced(by: end + .nanoseconds(1)), at: end))
        }
    }
}
