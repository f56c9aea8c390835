import Bytes
import Envelope
import TestServers
import TestSupport
import Testing
import Wire

@testable import Transport

/// A node's store that keeps nothing, on a clock that the tests advance. Times are in seconds.
@Suite(.safetyNet) struct StoreWatchTests {
    /// A shard with one message every `interval`, its node, and the server.
    struct World {
        /// The time between two messages.
        var interval = 2.0
        /// By how much the server's clock is ahead of the senders'.
        var serverOffset = 0.0
        /// By how much the node's clock is ahead of the senders'.
        var nodeOffset = 0.0
        /// By how much the timestamp of a message is behind the senders' clock, by its number.
        var age: (Int) -> Double = { _ in 0 }
        var isEphemeral: (Int) -> Bool = { _ in false }
        var contentTopic: (Int) -> String = { _ in "/a/1/b/c" }
        /// Whether the store keeps a message that it should keep, by its number and the minute.
        var isKept: (Int, Int) -> Bool = { _, _ in true }
        /// Whether the store responds, by the minute.
        var storeResponds: (Int) -> Bool = { _ in true }
        /// Whether the server polls, by the second.
        var polls: (Int) -> Bool = { _ in true }

        static func time(_ seconds: Double) -> Timestamp { TestNode.start.advanced(by: .seconds(seconds)) }

        /// Returns, at the end of each minute, whether the store is found to lack messages.
        func run(minutes: Int) -> [Bool] {
            var watch = StoreWatch()
            var findings: [Bool] = []
            var archive: [Digest32: Timestamp] = [:]
            var cache: [WakuEnvelope] = []
            var number = 0
            var checkpoint = Self.time(serverOffset)
            for second in 1...(60 * minutes) {
                while Double(number) * interval <= Double(second) - 0.5 {
                    let sent = Double(number) * interval
                    var envelope = WakuEnvelope.sample(
                        [UInt8(number & 255), UInt8(number >> 8)], contentTopic: contentTopic(number), sent: Self.time(sent - age(number)))
                    envelope.message.ephemeral = isEphemeral(number)
                    let stored = sent + nodeOffset
                    if !envelope.message.ephemeral, abs(stored - (sent - age(number))) <= 20, isKept(number, second / 60) {
                        archive[envelope.hash] = Self.time(sent - age(number))
                    }
                    // A topic that is not UTF-8 reads differently, so the server's hash is not the node's.
                    cache.append(envelope)
                    number += 1
                }
                let now = Double(second) + serverOffset
                if polls(second) {
                    watch.polled(cache, hashes: cache.map(\.hash), at: Self.time(now + 0.1))
                    cache = []
                }
                guard second.isMultiple(of: 60) else { continue }
                if storeResponds(second / 60) {
                    let period = checkpoint.advanced(by: .seconds(-60))...Self.time(now - 20)
                    watch.listed(archive.filter { period.contains($0.value) }.map(\.key))
                    watch.completed(period, at: Self.time(now))
                    checkpoint = period.upperBound
                } else {
                    watch.storeFailed()
                }
                findings.append(watch.lacksMessages)
            }
            return findings
        }
    }

    @Test func `a store that keeps nothing is found after three minutes, and its recovery after one`() {
        var world = World()
        world.isKept = { _, minute in !(10..<20).contains(minute) }
        let findings = world.run(minutes: 30)
        let first = findings.firstIndex(of: true)
        #expect(first == 12)
        #expect(findings.lastIndex(of: true).map { $0 <= 21 } == true)
        #expect(!findings[(first ?? 0)..<20].contains(false))
    }

    @Test(arguments: [(2, true), (3, false)]) func `a store that lacks more than half of the messages is found`(every: Int, isFound: Bool) {
        // One of three is lost, or two of three.
        var world = World()
        world.isKept = { number, _ in every == 3 ? !number.isMultiple(of: 3) : number.isMultiple(of: 3) }
        #expect(world.run(minutes: 20).contains(true) == isFound)
    }

    @Test func `a quiet night is no finding, with a store that works or without messages to judge`() {
        for (interval, isKept) in [(300.0, true), (300.0, false), (31.0, false), (19.0, true)] {
            var world = World()
            world.interval = interval
            world.isKept = { _, _ in isKept }
            #expect(world.run(minutes: 60).allSatisfy { !$0 }, "\(interval)")
        }
    }

    @Test(arguments: [(16.0, 0.0), (-16, 0), (0, 16), (0, -16), (16, 16), (-16, -16), (12, 12), (25, 25)])
    func `a clock that is off is no sign of a store that keeps nothing`(server: Double, node: Double) {
        var world = World()
        (world.serverOffset, world.nodeOffset) = (server, node)
        #expect(world.run(minutes: 20).allSatisfy { !$0 })
    }

    @Test(arguments: [0.0, 100_000]) func `a store that keeps nothing is found, also after the clock was set back`(earlier: Double) {
        var watch = StoreWatch()
        watch.completed(World.time(earlier - 90)...World.time(earlier - 20), at: World.time(earlier))
        for minute in 1...3 {
            let now = Double(60 * minute)
            let lost = (0..<5).map { WakuEnvelope.sample([UInt8(minute), $0], contentTopic: "/a/1/b/c", sent: World.time(now - 25)) }
            watch.polled(lost, hashes: lost.map(\.hash), at: World.time(now - 20))
            watch.completed(World.time(now - 90)...World.time(now - 20), at: World.time(now))
        }
        #expect(watch.lacksMessages)
    }

    @Test func `what archives do not keep is not missed`() {
        var world = World()
        world.isEphemeral = { _ in true }
        #expect(world.run(minutes: 20).allSatisfy { !$0 })
        world = World()
        world.age = { $0.isMultiple(of: 5) ? 0 : 25 }
        #expect(world.run(minutes: 20).allSatisfy { !$0 })
        // The server's hash of a topic that is not UTF-8 differs from the node's.
        world = World()
        world.contentTopic = { $0.isMultiple(of: 5) ? "/a/1/b/c" : "/a/\u{FFFD}/b/c" }
        world.isKept = { number, _ in number.isMultiple(of: 5) }
        #expect(world.run(minutes: 20).allSatisfy { !$0 })
    }

    @Test func `outages and restarts are no finding`() {
        var world = World()
        world.polls = { $0 % 60 > 25 }
        #expect(world.run(minutes: 30).allSatisfy { !$0 })
        world = World()
        world.polls = { $0 % 300 > 100 }
        #expect(world.run(minutes: 30).allSatisfy { !$0 })
        // A restart empties the store of each second minute.
        world = World()
        world.isKept = { _, minute in minute.isMultiple(of: 2) }
        #expect(world.run(minutes: 30).allSatisfy { !$0 })
    }

    @Test func `a store that does not respond is another condition`() {
        var world = World()
        world.isKept = { _, _ in false }
        world.storeResponds = { $0 < 10 }
        let findings = world.run(minutes: 20)
        #expect(findings.prefix(9).contains(true) && !findings.suffix(10).contains(true))
    }

    @Test func `the messages that wait for their listing are bounded`() {
        var watch = StoreWatch()
        let envelope = WakuEnvelope.sample()
        for number in 0..<70 {
            let hashes = (0..<1_000).map { index in
                var hash = Digest32(repeating: UInt8(number))
                (hash[0], hash[1]) = (UInt8(index & 255), UInt8(index >> 8))
                return hash
            }
            watch.polled(Array(repeating: envelope, count: 1_000), hashes: hashes, at: TestNode.start)
        }
        #expect(watch.pendingCount == StoreWatch.maximumPendingCount)
    }
}
