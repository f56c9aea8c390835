import Bytes
import Envelope
import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing
import WakuREST

@testable import Transport

/// The faults of a node: no message in its store is lost (RELIABILITY.md T5).
@Suite(.safetyNet)
struct GapTests {
    /// The sleepers while the history fails, which retries after a second.
    static let withoutHistory = [WakuWorld.interval, .seconds(1), .seconds(10)]

    let world = WakuWorld()

    /// Runs the test at a node whose history the transport has read, and which it polls.
    func whileReceiving(
        _ node: RelayServer.Configuration = .init(pubsubTopics: [TestNode.topic]), cacheCapacity: Int = 4_096,
        dueIn delays: [Duration] = WakuWorld.idle, _ test: (WakuTransport) async throws -> Void
    ) async throws {
        try await world.withNode(node) { node async throws in
            let transport = world.transport(
                node.url,
                .init(pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, cacheCapacity: cacheCapacity))
            try await world.whileRunning(transport, dueIn: delays) { () async throws in try await test(transport) }
        }
    }

    /// Lets the next poll detect the gap, and waits until the history is complete.
    func recover() async {
        await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, .seconds(60)])
    }

    @Test func `a restart of the node costs no message that its store has`() async throws {
        try await whileReceiving { transport async throws in
            try await world.send([1])
            await world.pass(WakuWorld.interval)
            try await world.send([2, 3])
            try world.control.restart()
            try await world.send([4])
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.numbers == [1, 4])
            // No poll failed, because the node's command line subscribed it.
            await world.pass(.seconds(60), dueIn: WakuWorld.idle)
            #expect(Set(world.receiver.numbers) == [1, 2, 3, 4])
            #expect(transport.healthIssues == [])
        }
    }

    @Test func `lost subscriptions are renewed, and the gap is backfilled at once`() async throws {
        try await whileReceiving(.init()) { transport async throws in
            try await world.send([1, 2])
            try world.control.restart()
            await recover()
            #expect(Set(world.receiver.numbers) == [1, 2])
            #expect(world.receiver.condition.value.origins == [.backfilled, .backfilled])
            try await world.send([3])
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.numbers.last == 3)
            #expect(world.receiver.condition.value.origins.last == .live)
            #expect(transport.healthIssues == [])
            let report = try #require(transport.nodeReports.first)
            #expect(report.issues == [] && report.gapCount == 1 && report.lastMessageAge == .zero)
        }
    }

    @Test func `messages of a lost response are fetched from the store`() async throws {
        try await whileReceiving { transport async throws in
            world.control.faults.losesAnswers = true
            try await world.send([1, 2])
            await world.pass(WakuWorld.interval)
            #expect(transport.issuesWithoutNode == ["\(TestNode.topic): the node cannot be reached: \(HTTPError.Kind.connectionLost)"])
            #expect(world.receiver.numbers == [])
            world.control.faults.losesAnswers = false
            await recover()
            #expect(Set(world.receiver.numbers) == [1, 2])
            #expect(transport.healthIssues == [])
        }
    }

    @Test func `a full cache is fetched from the store`() async throws {
        try await whileReceiving(.init(pubsubTopics: [TestNode.topic], cacheCapacity: 10), cacheCapacity: 10) { _ async throws in
            try await world.send(1...60)
            await recover()
            #expect(Set(world.receiver.numbers) == Set(1...60))
        }
    }

    @Test func `the comparison finds messages that the cache lost without a sign`() async throws {
        try await whileReceiving { _ async throws in
            world.control.faults.evictEvery = 3
            try await world.send(1...9)
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.numbers == [1, 2, 4, 5, 7, 8])
            await world.pass(.seconds(60), dueIn: WakuWorld.idle)
            #expect(Set(world.receiver.numbers) == Set(1...9))
            #expect(world.receiver.condition.value.origins.suffix(3) == [.backfilled, .backfilled, .backfilled])
        }
    }

    @Test func `messages that the node fetches from other stores are found within five minutes`() async throws {
        try await whileReceiving { transport async throws in
            try await world.send([1])
            await world.pass(WakuWorld.interval)
            for _ in 1...2 { await world.pass(.seconds(60), dueIn: WakuWorld.idle) }
            for minutes in [50, 20] as [Double] {
                let sent = world.wallClock.now.advanced(by: .seconds(-60 * minutes))
                world.control.synchronize(.sample([UInt8(minutes)], sent: sent))
            }
            for _ in 1...3 { await world.pass(.seconds(60), dueIn: WakuWorld.idle) }
            #expect(Set(world.receiver.numbers) == [1, 20, 50])
            #expect(transport.warnings == [])
        }
    }

    @Test func `a store that keeps nothing is a warning while it lasts, and not with the store of a peer`() async throws {
        for peer in [nil, "/ip4/127.0.0.1"] as [String?] {
            let world = WakuWorld()
            world.control.faults.keepsNothing = true
            try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
                let transport = world.transport(
                    node.url, .init(pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, storePeerAddress: peer))
                try await world.whileRunning(transport) { () async throws in
                    var number: UInt8 = 0
                    func passMinute() async throws {
                        try await world.send(number..<number + 4, contentTopic: "/other/1/a/b")
                        number += 4
                        await world.pass(WakuWorld.interval)
                        await world.pass(.seconds(60) - WakuWorld.interval, dueIn: WakuWorld.idle)
                    }
                    for _ in 1...2 { try await passMinute() }
                    #expect(transport.warnings == [])
                    for _ in 1...2 { try await passMinute() }
                    #expect(transport.warnings.map { $0.contains("the node's store lacks most messages") } == (peer == nil ? [true] : []))
                    #expect(transport.healthIssues == [])
                    guard peer == nil else { return }
                    world.control.faults.keepsNothing = false
                    for _ in 1...2 { try await passMinute() }
                    #expect(transport.warnings == [])
                }
            }
        }
    }

    @Test(arguments: [25, -25]) func `a node whose clock is off stores nothing, and the clocks are named`(offset: Int) async throws {
        // The stand-in's header `Date` has the real time, which goes on. The world's clock is hours off it.
        let hours = offset > 0 ? 5 : -5
        let start = WallClock.system.now().advanced(by: .seconds(-3_600 * hours))
        let world = WakuWorld(checkpoint: start, start: start)
        world.control.faults.clockOffset = .seconds(offset)
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                for minute in 0..<4 as Range<UInt8> {
                    try await world.send(4 * minute..<4 * minute + 4, contentTopic: "/other/1/a/b")
                    await world.pass(WakuWorld.interval)
                    await world.pass(.seconds(60) - WakuWorld.interval, dueIn: WakuWorld.idle)
                }
                let (named, text) = ("the clocks differ", "s \(offset > 0 ? "ahead" : "behind"); correct the wrong one")
                #expect(transport.warnings.map { $0.contains(named) && $0.hasSuffix(text) } == [true], "\(transport.warnings)")
            }
        }
    }

    @Test(arguments: [(nil, false), (20, false), (-20, false), (21, true), (-21, true)] as [(Int?, Bool)])
    func `clocks are named if they differ by more than archives accept`(seconds: Int?, isNamed: Bool) {
        let text = WakuNodeLink.storeLacksMessages(clockDifference: seconds.map { .seconds($0) })
        #expect(text.contains("the clocks differ") == isNamed)
    }

    @Test func `a node that is busy is a warning, and its connection is shown`() async throws {
        world.control.faults.health = "EVENT_LOOP_LAGGING"
        try await whileReceiving { transport async throws in
            #expect(transport.healthIssues == [])
            #expect(transport.warnings.map { $0.hasSuffix(": health: the node is busy: EVENT_LOOP_LAGGING") } == [true])
            #expect(transport.nodeReports.map(\.connection) == ["Connected"])
            world.control.faults.health = "SHUTTING_DOWN"
            await world.pass(.seconds(10), dueIn: [WakuWorld.interval, .seconds(1)])
            #expect(transport.issuesWithoutNode == ["health: the node is not ready: SHUTTING_DOWN"])
            #expect(transport.nodeReports.map(\.connection) == ["Disconnected"])
            world.control.faults.health = "READY"
            await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(10)])
            #expect(transport.healthIssues == [] && transport.warnings == [])
        }
    }

    @Test(arguments: ["404 page not found", "<html><h1>nginx</h1></html>"])
    func `a 404 with a text is the node's problem, and no reason to subscribe`(text: String) async throws {
        try await whileReceiving { transport async throws in
            world.control.faults.notFound = text
            await world.pass(WakuWorld.interval)
            #expect(transport.issuesWithoutNode == ["\(TestNode.topic): the node responded with 404: \(text)"])
            world.control.faults.notFound = nil
            await world.pass(.milliseconds(500), dueIn: [WakuWorld.interval, .seconds(60)])
            #expect(transport.healthIssues == [])
        }
    }

    @Test func `a second reader at the node is a warning until it has been absent for a while`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                try await world.send([1])
                await world.pass(WakuWorld.interval)
                #expect(transport.warnings == [])
                try await world.send([2])
                #expect(try await node.wakuNode.takeMessages(on: TestNode.topic)?.count == 1)
                await passMinute()
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 2])
                #expect(transport.healthIssues == [])
                #expect(transport.warnings.count == 1 && transport.warnings[0].contains("another program reads from"))
                for _ in 1...10 { await passMinute() }
                #expect(transport.warnings == [])
            }
        }
    }

    /// Lets a minute pass in which the node is polled steadily, and compares its store at the end.
    private func passMinute() async {
        for _ in 1..<12 { await world.pass(.seconds(5)) }
        await world.pass(.seconds(5), dueIn: [WakuWorld.interval, .seconds(60)])
    }

    @Test func `after a pause of the server, what only the store has accuses nobody`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                // A minute passes at once, as when the process is stopped and continued. The comparison may come before the poll.
                try await world.send([1])
                #expect(try await node.wakuNode.takeMessages(on: TestNode.topic)?.count == 1)
                await world.pass(.seconds(60), dueIn: WakuWorld.idle)
                for _ in 1...2 { await passMinute() }
                #expect(world.receiver.numbers == [1])
                #expect(transport.warnings == [] && transport.healthIssues == [])
                try await world.send([2])
                #expect(try await node.wakuNode.takeMessages(on: TestNode.topic)?.count == 1)
                for _ in 1...2 { await passMinute() }
                #expect(world.receiver.numbers == [1, 2])
                #expect(transport.warnings.count == 1 && transport.warnings[0].contains("another program reads from"))
            }
        }
    }

    @Test func `a node without its own store is a warning while peers have history`() async throws {
        world.control.faults.asksPeersStore = true
        try await whileReceiving { transport async throws in
            #expect(transport.healthIssues == [])
            #expect(transport.warnings.map { $0.contains(": store: the node has no store of its own") } == [true])
        }
        let peer = WakuTransport.Configuration(
            pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, storePeerAddress: "/ip4/127.0.0.1")
        try await world.withNode { node async throws in
            let transport = world.transport(node.url, peer)
            try await world.whileRunning(transport, dueIn: [WakuWorld.interval, .seconds(10)]) { () async throws in
                #expect(transport.warnings == [])
            }
        }
    }

    @Test(arguments: [false, true]) func `a silent shard is a warning after an hour`(hasSpoken: Bool) async throws {
        try await whileReceiving { transport async throws in
            if hasSpoken { try await world.send([1], contentTopic: "/foreign/1/a/b") }
            await world.pass(WakuWorld.interval)
            for _ in 1...60 { await world.pass(.seconds(60), dueIn: WakuWorld.idle) }
            #expect(transport.healthIssues == [])
            let words = hasSpoken ? "no message for 60 minutes" : "no message yet, for 60 minutes: check that clients use this shard"
            #expect(transport.warnings.map { $0.hasSuffix("\(TestNode.topic): \(words)") } == [true])
            try await world.send([2], contentTopic: "/foreign/1/a/b")
            await world.pass(WakuWorld.interval)
            #expect(transport.warnings == [])
        }
    }

    @Test func `a shard that may be silent is no warning`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            var configuration = WakuTransport.Configuration(pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval)
            configuration.quietTopics = [TestNode.topic]
            let transport = world.transport(node.url, configuration)
            try await world.whileRunning(transport) { () async throws in
                for _ in 1...61 { await world.pass(.seconds(60), dueIn: WakuWorld.idle) }
                #expect(transport.warnings == [])
            }
        }
    }

    @Test func `duplicates and another order change nothing`() async throws {
        world.control.faults.copies = 10
        world.control.faults.isReversed = true
        try await whileReceiving { _ async throws in
            try await world.send(1...5)
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.numbers == [5, 4, 3, 2, 1])
            // The network repeats the messages after the node has forgotten them.
            for envelope in world.receiver.condition.value.messages { try await world.peer.publish(envelope) }
            await world.pass(WakuWorld.interval)
            await world.pass(.seconds(60), dueIn: WakuWorld.idle)
            #expect(world.receiver.batches.count == 1)
        }
    }

    @Test func `a message with a long transit time arrives once`() async throws {
        try await whileReceiving { _ async throws in
            world.control.faults.delay = .seconds(15)
            try await world.send([1])
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.numbers == [])
            await world.pass(.seconds(15))
            #expect(world.receiver.numbers == [1])
            await world.pass(.seconds(60), dueIn: WakuWorld.idle)
            #expect(world.receiver.batches.count == 1)
        }
    }

    @Test func `a gap of a day is backfilled`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            for number in 0..<48 as Range<UInt8> {
                try await world.send([number])
                try await world.send([number], contentTopic: "/other/1/a/b")
                world.wallClock.advance(by: .seconds(1_800))
            }
            _ = try await node.get(TestNode.path)  // Simulate a cache that could not hold the message
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                await world.checkpoints.wait(for: world.wallClock.now)
                #expect(world.receiver.numbers == Array(0..<48))
                #expect(world.receiver.condition.value.origins.allSatisfy { $0 == .backfilled })
                #expect((world.checkpoints.condition.value[TestNode.topic]?.count ?? 0) >= 24)
            }
        }
    }

    @Test func `a clock that is set back while a gap is closed leaves no negative age of the checkpoint`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.send([1])
            _ = try await node.get(TestNode.path)
            world.wallClock.advance(by: .seconds(30))
            world.receiver.onReceive { _ in world.wallClock.advance(by: .seconds(-3_600)) }
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                #expect(world.receiver.numbers == [1])
                #expect(world.checkpoints.checkpoint(of: TestNode.topic).map { $0 > world.wallClock.now } == true)
                let checkpoint = try #require(transport.links[0].status.oldestCheckpoint)
                #expect(checkpoint <= transport.base.time.elapsed())
            }
        }
    }

    @Test func `a checkpoint waits for messages that could not be recorded`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.send([1])
            _ = try await node.get(TestNode.path)
            world.wallClock.advance(by: .seconds(30))
            world.receiver.refuse(2)
            let transport = world.transport(node.url)
            // The history retries each second.
            try await world.whileRunning(transport, dueIn: Self.withoutHistory) { () async throws in
                #expect(world.receiver.condition.value.refusals == 1)
                #expect(transport.healthIssues == [])
                #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start)
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(world.receiver.condition.value.refusals == 2)
                #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start)
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(60)])
                #expect(world.receiver.numbers == [1])
                #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start.advanced(by: .seconds(30)))
            }
        }
    }

    @Test func `a checkpoint does not pass a live message that could not be recorded`() async throws {
        try await whileReceiving { _ async throws in
            world.receiver.refuse(.max)
            try await world.send([1])
            await world.pass(WakuWorld.interval)
            #expect(world.receiver.condition.value.refusals == 1)
            // The comparison finds the message missing. Only the receiver's acceptance can change that. Poll and history retry in a second.
            await world.pass(.seconds(60), dueIn: [.seconds(1), .seconds(1), .seconds(10)])
            #expect(world.receiver.condition.value.refusals == 3)
            #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start)
            world.receiver.refuse(0)
            await world.pass(.seconds(10), dueIn: WakuWorld.idle)
            #expect(world.receiver.numbers == [1])
            #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start.advanced(by: .milliseconds(40_500)))
        }
    }

    @Test(arguments: 0..<8)
    func `a server that is killed at any step misses nothing at its next start`(step: Int) async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.send(1...3)
            _ = try await node.get(TestNode.path)
            world.wallClock.advance(by: .seconds(600))
            try await world.send(4...5)
            let first = world.transport(node.url)
            let task = Task { [receiver = world.receiver] in try await first.run(receiver: receiver) }
            // The steps of a start: no step yet, batches recorded one by one, the checkpoint saved, and later messages.
            switch step {
            case 0: break
            case 1...2: await world.receiver.wait(for: step)
            case 3...5: await world.receiver.wait(for: step)
            case 6: await world.checkpoints.wait(for: world.wallClock.now)
            default:
                await world.clock.sleepers(dueIn: WakuWorld.idle)
                try await world.send([9])
            }
            task.cancel()
            try await task.value
            world.wallClock.advance(by: .seconds(30))
            try await world.send([6])
            _ = try await node.get(TestNode.path)

            let wanted = Set([1, 2, 3, 4, 5, 6] + (step == 7 ? [9] : []) as [UInt8])
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                await world.checkpoints.wait(for: world.wallClock.now)
                #expect(Set(world.receiver.numbers) == wanted)
            }
        }
    }

    @Test func `the store may be another process's file, and outlives the node`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("archive")
        try await world.withNode(.init(pubsubTopics: [TestNode.topic], archivePath: path)) { _ async throws in
            try await world.send([1, 2])
        }
        // A kill during a write leaves a file like this.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data([0, 0, 0, 16, 47]))
        try file.close()
        world.wallClock.advance(by: .seconds(3_600))
        try await world.withNode(.init(pubsubTopics: [TestNode.topic], archivePath: path)) { node async throws in
            try await world.send([3])
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                await world.checkpoints.wait(for: world.wallClock.now)
                #expect(Set(world.receiver.numbers) == [1, 2, 3])
            }
        }
        try await world.withNode(.init(archivePath: path)) { node async throws in
            var query = StoreQuery()
            query.pubsubTopic = TestNode.topic
            #expect(try await node.wakuNode.storePage(query).rows.count == 3)
        }
    }

    @Test func `a node without a store is reported to the operator, and live messages continue`() async throws {
        world.control.faults.hasNoStore = true
        try await whileReceiving(dueIn: Self.withoutHistory) { transport async throws in
            #expect(
                transport.issuesWithoutNode == [
                    "history of \(TestNode.topic): the node responded with 412: No suitable service peer & none discovered"
                ])
            try await world.send([1])
            await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, .milliseconds(500)])
            #expect(world.receiver.numbers == [1])
        }
    }

    @Test func `go-waku works, and readiness reports its missing history`() async throws {
        world.control.faults.isGoWaku = true
        try await whileReceiving(.init(), dueIn: Self.withoutHistory) { transport async throws in
            #expect(
                transport.issuesWithoutNode == [
                    "history of \(TestNode.topic): the node responded with 400: pubsubTopic and contentTopics are required"
                ])
            try await world.send([1])
            await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, .milliseconds(500)])
            #expect(world.receiver.numbers == [1])
            try await transport.publish(world.envelope(2))
            #expect(world.peers.received.last == world.envelope(2))
        }
    }

    @Test func `an operator who disables history gets no warning about it`() async throws {
        world.control.faults.isGoWaku = true
        try await world.withNode { node async throws in
            let transport = world.transport(
                node.url, .init(pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, usesHistory: false))
            try await world.whileRunning(transport, dueIn: [WakuWorld.interval, .seconds(10)]) { () async throws in
                #expect(transport.healthIssues == [])
            }
        }
    }
}
