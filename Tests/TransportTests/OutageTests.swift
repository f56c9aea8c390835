import Envelope
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// Outages of a node, and the holes that they leave in its store.
@Suite(.safetyNet)
struct OutageTests {
    let world = WakuWorld()

    func outageWarnings(of transport: WakuTransport) -> [String] { transport.warnings.filter { $0.contains("outage") } }

    /// Lets thirty seconds pass in which the node cannot be polled.
    ///
    /// - Parameter change: Breaks the node, or mends it.
    func passOutage(_ change: (_ isBroken: Bool) async -> Void) async throws {
        await world.pass(WakuWorld.interval)
        await change(true)
        await world.pass(WakuWorld.interval)
        try await world.send([200], contentTopic: "/other/1/a/b")
        await world.pass(.seconds(30), dueIn: [.seconds(1)])
        await change(false)
        await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(60)])
    }

    @Test(arguments: [false, true])
    func `a store without the messages of an outage is a warning until it has one, or an hour has passed`(isFilled: Bool) async throws {
        let node = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        await node.start()
        let transport = world.transport(node.url)
        try await world.whileRunning(transport) { () async throws in
            try await world.send(0..<60, contentTopic: "/other/1/a/b")
            try await passOutage { isBroken in if isBroken { await node.kill() } else { await node.start() } }
            await world.clock.sleepers(dueIn: [WakuWorld.interval, .seconds(60), .seconds(60)])
            let hole = "the store has no messages of the outage of 31 s; if the node was down, only store-sync or storePeer brings them"
            #expect(outageWarnings(of: transport) == ["node \(node.name): outage on \(TestNode.topic): \(hole)"])
            #expect(transport.healthIssues == [])
            await world.pass(.seconds(60), dueIn: [WakuWorld.interval, .seconds(60), .seconds(60)])
            #expect(outageWarnings(of: transport).count == 1)
            if isFilled {
                node.control.synchronize(.sample([201], sent: TestNode.start.advanced(by: .seconds(15))))
                await world.pass(.seconds(60))
            } else {
                for _ in 1...59 { await world.pass(.seconds(60), dueIn: [WakuWorld.interval, .seconds(60)]) }
            }
            await world.clock.sleepers { $0.count { $0 == .seconds(60) } == 1 }
            #expect(outageWarnings(of: transport) == [])
        }
        await node.kill()
    }

    @Test func `a node that was only out of reach has no hole`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                try await world.send(0..<60, contentTopic: "/other/1/a/b")
                try await passOutage { world.control.faults.notFound = $0 ? "502 of a proxy" : nil }
                #expect(outageWarnings(of: transport) == [])
            }
        }
    }

    // MARK: Rules

    static let start = TestNode.start
    static let outage = start...start.advanced(by: .seconds(30))

    @Test func `only outages of more than twenty seconds count, without the time before the node was found again`() {
        for (length, expected) in [(20, nil), (21, 11), (500, 490)] as [(Int, Int?)] {
            var watch = OutageWatch()
            #expect(watch.note(.gap(.start), at: Self.start) == nil)
            #expect(watch.note(.interrupted, at: Self.start) == nil)
            let outage = watch.note(.gap(.outage), at: Self.start.advanced(by: .seconds(length)))
            #expect(outage == expected.map { Self.start...Self.start.advanced(by: .seconds($0)) })
            #expect(watch.note(.gap(.overflow), at: Self.start.advanced(by: .seconds(1_000))) == nil)
        }
    }

    @Test(arguments: [(59, 0, false), (60, 0, true), (60, 1, false)])
    func `a shard with fewer than sixty messages in the hour before shows nothing`(before: Int, within: Int, hasHole: Bool) {
        var check = OutageCheck(Self.outage, pubsubTopic: TestNode.topic, at: Self.outage.upperBound)
        guard case .count(let query, .zero) = check.step else {
            Issue.record("no query")
            return
        }
        #expect(query.startTime == Self.start.advanced(by: .seconds(-3_600)) && query.endTime == Self.start && query.pageSize == 60)
        check.note(rowCount: nil, at: Self.outage.upperBound)
        #expect(check.step == .count(query, after: .seconds(60)))
        check.note(rowCount: before, at: Self.outage.upperBound)
        guard before >= OutageCheck.minimumCount else { return #expect(check.step == .end && !check.hasHole) }
        guard case .count(let second, .zero) = check.step else {
            Issue.record("no query")
            return
        }
        #expect(second.startTime == Self.outage.lowerBound && second.endTime == Self.outage.upperBound)
        check.note(rowCount: within, at: Self.outage.upperBound)
        #expect(check.hasHole == hasHole)
        #expect(check.step == (hasHole ? .count(second, after: .seconds(60)) : .end))
    }
}
