import Testing

@testable import Transport

struct TopicPollTests {
    var poll = TopicPoll(interval: .milliseconds(500))

    @Test mutating func `polls at its interval`() {
        #expect(poll.action == .take)
        #expect(poll.delay == .zero)
        poll.note(.took([]))
        #expect(poll.action == .take)
        #expect(poll.delay == .milliseconds(500))
        #expect(poll.trouble == nil)
    }

    @Test mutating func `takes nothing more before a batch is accepted`() {
        let batch = [envelope()]
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
        poll.note(.took([]))
        #expect(poll.trouble == nil)
        poll.note(.notSubscribed)
        #expect(poll.action == .subscribe)
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
        poll.note(.took([]))
        poll.note(.failed("down"))
        #expect(poll.delay == .milliseconds(500))
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
