import StatusCrypto
import TestSupport
import Testing

@testable import Transport

@Suite(.safetyNet)
struct TopicPollTests {
    var poll = TopicPoll(interval: .milliseconds(500), cacheShare: 40)

    func batch(_ count: Int) -> LiveBatch {
        LiveBatch(wanted: [.sample()], hashes: (0..<count).map { Digest32(repeating: UInt8($0)) })
    }

    @Test mutating func `polls at its interval`() {
        #expect(poll.action == .take)
        #expect(poll.delay == .zero)
        poll.note(.took(LiveBatch()))
        #expect(poll.action == .take)
        #expect(poll.delay == .milliseconds(500))
        #expect(poll.trouble == nil)
    }

    @Test mutating func `takes nothing more before a batch is accepted`() {
        let batch = batch(1)
        poll.note(.took(batch))
        #expect(poll.action == .offer(batch))
        #expect(poll.delay == .zero)
        poll.note(.failed("disk full"))
        #expect(poll.action == .offer(batch))
        #expect(poll.delay == .milliseconds(500))
        #expect(poll.trouble == "disk full")
        poll.note(.accepted)
        #expect(poll.action == .take)
        #expect(poll.trouble == nil)
    }

    @Test mutating func `subscribes only when the node does not know the topic`() {
        poll.note(.notSubscribed)
        #expect(poll.action == .subscribe)
        poll.note(.subscribed)
        #expect(poll.action == .take)
        #expect(poll.delay == .zero)
        poll.note(.took(LiveBatch()))
        #expect(poll.trouble == nil)
        poll.note(.notSubscribed)
        #expect(poll.action == .subscribe)
    }

    @Test mutating func `learns from what it missed that the node keeps less than was said`() {
        poll = TopicPoll(interval: .milliseconds(500), cacheShare: 4_096)
        poll.note(.took(batch(50)))
        #expect(poll.gap == .start)
        poll.note(.accepted)
        poll.note(.took(batch(50)))
        #expect(poll.gap == nil)
        poll.note(.accepted)
        #expect(poll.delay == .milliseconds(500))
        poll.note(.missed)
        poll.note(.took(batch(49)))
        #expect(poll.gap == nil)
        poll.note(.accepted)
        #expect(poll.delay == .zero)
        poll.note(.took(batch(50)))
        #expect(poll.gap == .overflow)
    }

    @Test mutating func `learns nothing from small batches: no cache is as small as that`() {
        poll.note(.took(batch(20)))
        poll.note(.accepted)
        poll.note(.missed)
        poll.note(.took(batch(20)))
        #expect(poll.gap == nil)
    }

    @Test mutating func `does not hurry when a subscription does not last`() {
        poll.note(.notSubscribed)
        poll.note(.subscribed)
        poll.note(.notSubscribed)
        #expect(poll.action == .take)
        #expect(poll.delay == .milliseconds(500))
        #expect(poll.trouble == "the node does not keep the subscription")
    }

    @Test mutating func `waits longer after each failure, up to ten seconds, until one success`() {
        var delays: [Duration] = []
        for _ in 0..<7 {
            poll.note(.failed("down"))
            delays.append(poll.delay)
        }
        #expect(delays == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(10), .seconds(10)])
        poll.note(.took(LiveBatch()))
        poll.note(.failed("down"))
        #expect(poll.delay == .milliseconds(500))
    }

    @Test(arguments: [(1, 500), (9, 500), (10, 0), (38, 0), (39, 0), (4_096, 0)])
    mutating func `takes more at once while there is much`(count: Int, milliseconds: Int) {
        poll.note(.took(LiveBatch()))
        poll.note(.took(LiveBatch(wanted: [], hashes: Array(repeating: Digest32(), count: count))))
        #expect(poll.delay == .zero)
        #expect(poll.gap == (count >= 39 ? .overflow : nil))
        poll.note(.accepted)
        #expect(poll.action == .take)
        #expect(poll.delay == .milliseconds(milliseconds))
        #expect(poll.gap == nil)
    }

    @Test mutating func `the first messages leave a gap behind them`() {
        #expect(!poll.isReceiving)
        poll.note(.failed("down"))
        poll.note(.notSubscribed)
        poll.note(.subscribed)
        #expect(poll.gap == nil)
        poll.note(.took(LiveBatch()))
        #expect(poll.gap == .start)
        #expect(poll.isReceiving)
        poll.note(.took(LiveBatch()))
        #expect(poll.gap == nil)
    }

    @Test(
        arguments: [
            ([.failed("down")], Gap.outage), ([.notSubscribed, .subscribed], .resubscription),
            ([.failed("down"), .notSubscribed, .failed("down"), .subscribed], .outage),
        ] as [([TopicPoll.Event], Gap)])
    mutating func `whatever interrupts the messages leaves one gap`(events: [TopicPoll.Event], gap: Gap) {
        poll.note(.took(LiveBatch()))
        for event in events {
            poll.note(event)
            #expect(!poll.isReceiving)
            #expect(poll.gap == nil)
        }
        poll.note(.took(batch(40)))
        #expect(poll.gap == gap)
        poll.note(.accepted)
        #expect(poll.gap == nil)
    }

    @Test mutating func `a batch that could not be recorded is no gap`() {
        poll.note(.took(LiveBatch()))
        poll.note(.took(batch(1)))
        poll.note(.failed("disk full"))
        #expect(poll.isReceiving)
        poll.note(.accepted)
        poll.note(.took(LiveBatch()))
        #expect(poll.gap == nil)
    }

    @Test func `one passes the turnstile at a time, and all pass`() async {
        let turnstile = Turnstile()
        let count = await withTaskGroup { group in
            let inside = Inside()
            for _ in 0..<50 {
                group.addTask {
                    await turnstile.pass {
                        #expect(await inside.enter() == 1)
                        await Task.yield()
                        await inside.leave()
                    }
                }
            }
            await group.waitForAll()
            return await inside.total
        }
        #expect(count == 50)
    }

    actor Inside {
        private var count = 0
        private(set) var total = 0

        func enter() -> Int {
            count += 1
            total += 1
            return count
        }

        func leave() { count -= 1 }
    }
}
