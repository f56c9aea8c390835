import Envelope
import Foundation
import Store
import Synchronization
import TestSupport
import Testing

@testable import Daemon
@testable import Observation

/// Snapshots of a server whose clock the test advances.
@Suite(.safetyNet)
struct StatusSamplerTests {
    @Test func `a snapshot has the flow of the last hour and of the same hour yesterday`() async throws {
        let world = World()
        let running = Task { await world.sampler.run() }
        for minute in 1...1_441 {
            await world.clock.sleepers(dueIn: .seconds(60))
            world.parts.minute.withLock { $0 = minute }
            world.clock.advance(by: .seconds(60))
        }
        await world.clock.sleepers(dueIn: .seconds(60))
        let snapshot = world.sampler.snapshot()
        let hour = StatusSnapshot.HourFlow(received: 1_200, accepted: 600, sent: 480, deadToken: 60, expired: 60)
        #expect(snapshot.flow.lastHour == hour && snapshot.flow.hourYesterday == hour)
        #expect(snapshot.histories.sent == .init(hour: Array(repeating: 8, count: 60), day: Array(repeating: 80, count: 144)))
        #expect(snapshot.histories.openPushes.hour.count == 60 && snapshot.histories.registrations.day.count == 144)
        #expect(snapshot.store.ledger.sent == 1_441 * 8 && snapshot.uptimeSeconds == 1_441 * 60)
        // The world has one reply a minute, so the last hour has 60 of them.
        #expect(snapshot.replies.count == 60)
        // A reading that is older than a minute says nothing about this one.
        world.parts.reading.withLock { $0 = (nil, .seconds(60)) }
        world.clock.advance(by: .seconds(60))
        await world.clock.sleepers(dueIn: .seconds(60))
        #expect(world.sampler.snapshot().histories.openPushes.hour.last == .some(nil))
        running.cancel()
        await running.value
    }

    @Test func `a snapshot has the times and texts of the parts`() async throws {
        let world = World()
        world.clock.advance(by: .seconds(90))
        world.parts.reading.withLock { $0 = (.seconds(85), .seconds(5)) }
        let snapshot = world.sampler.snapshot()
        #expect(snapshot.store.oldestPushSeconds == 90 && snapshot.store.ageSeconds == 5 && snapshot.uptimeSeconds == 90)
        #expect(snapshot.canary == nil && snapshot.nodes == [] && snapshot.routes == [])
        #expect(snapshot.flow == .init())
    }

    @Test func `a restarted server is listed once, with its newest state, and a copied database is no server`() {
        func member(_ number: Int64, _ name: String, _ state: ClusterMember.State, version: String = "0.2.0") -> ClusterMember {
            ClusterMember(number: number, name: name, version: version, state: state, lease: .zero)
        }
        let members = [
            member(1, "migrate-store", .fenced, version: ""), member(2, "two", .fenced), member(3, "one", .fenced),
            member(4, "two", .alive),
        ]
        #expect(
            StatusSnapshot.Member.servers(of: members) == [
                .init(name: "one", state: "fenced", version: "0.2.0"), .init(name: "two", state: "alive", version: "0.2.0"),
            ])
    }

    @Test func `the sampler shows what the readiness observed last, and since when`() async throws {
        let world = World()
        #expect(!world.sampler.snapshot().isReady)
        let running = Task { try await world.readiness.run() }
        await world.clock.sleepers(dueIn: .seconds(1))
        #expect(world.sampler.snapshot().isReady)
        world.parts.issues.withLock { $0 = [.node("node a: down")] }
        // The readiness checks once a second. The sampler reads its result.
        #expect(world.sampler.snapshot().isReady)
        for _ in 0..<5 {
            world.clock.advance(by: .seconds(1))
            await world.clock.sleepers(dueIn: .seconds(1))
        }
        let snapshot = world.sampler.snapshot()
        #expect(!snapshot.isReady && snapshot.stateSeconds == 4)
        #expect(snapshot.issues.map(\.text) == ["node a: down"] && snapshot.issues.map(\.kind) == ["node"])
        running.cancel()
        _ = await running.result
    }

    private static let conditions: [(Observation.Condition, kind: String, advice: String, commands: [String])] = [
        (.node("a"), "node", "Start the node", probe), (.network("a"), "network", "same shard", probe),
        (.store("a"), "store", "Check the database", ["df -h", "dmesg | tail", "journalctl --unit pushserver --lines 50"]),
        (.overload("a"), "overload", "Wait", prelude + ["pushctl top --admin http://127.0.0.1:9"]),
        (.replies("a"), "replies", "slow", prelude + ["pushctl top --admin http://127.0.0.1:9"]),
        (.clients("a"), "clients", "Update this server", ["pushserver --version"]),
        (.gorush("a"), "gorush", "Start gorush, or correct gorush.url. Accepted pushes wait for up to 2h.", probe),
        (.provider("a"), "provider", "credentials", probe), (.route("a"), "route", "Config/gorush.yml", probe),
        (.dryRun, "dryRun", "Set gorush.url", probe), (.clock("a"), "clock", "clock", ["timedatectl"]),
        (.keyFile("a"), "keyFile", "Put the file back", ["ls -l /etc/pushserver /var/lib/pushserver"]),
        (
            .canary("a"), "canary", "test push",
            prelude + ["pushctl doctor --server 0x02 --node http://127.0.0.1:8 --admin http://127.0.0.1:9"]
        ),
        (.pushProxy("a"), "pushProxy", "operator", ["journalctl --unit pushserver --lines 50"]),
    ]
    private static let prelude = [
        "set -a; test ! -f /etc/default/pushserver || . /etc/default/pushserver; set +a",
        #"export PUSHSERVER_CONFIG='/my server'\''s/c.yaml'"#,
    ]
    private static let probe = prelude + ["pushserver check-config --probe > /dev/null"]

    @Test(arguments: conditions)
    func `each kind of condition has its name, advice and commands`(
        condition: Observation.Condition, kind: String, advice: String, commands: [String]
    ) {
        let shell = OperatorShell(
            configuration: "/my server's/c.yaml", publicKey: "0x02", admin: "http://127.0.0.1:9", node: "http://127.0.0.1:8")
        #expect(condition.kind == kind && condition.advice(pushLifetime: "2h").contains(advice))
        #expect(condition.commands(in: shell) == commands)
        #expect(condition.text == "a" || condition == .dryRun)
    }

    @Test func `late replies are a warning, though the server is ready`() async throws {
        let world = World()
        let running = Task { try await world.readiness.run() }
        await world.clock.sleepers(dueIn: .seconds(1))
        #expect(world.sampler.snapshot().warnings == [])
        world.parts.lateReplies.withLock { $0 = 2 }
        let snapshot = world.sampler.snapshot()
        #expect(snapshot.isReady && snapshot.warnings.map(\.kind) == ["replies"])
        #expect(snapshot.findingCounts == "1 warning")
        running.cancel()
        _ = await running.result
    }

    @Test func `histories survive a restart, and a file that is damaged, too long or of another kind is ignored`() async throws {
        let folder = try TemporaryFolder()
        let file = StatusHistoryFile(path: folder.path("history"), owner: "0x04 a")
        let world = World(file: file)
        let running = Task { await world.sampler.run() }
        for minute in 1...30 {
            await world.clock.sleepers(dueIn: .seconds(60))
            world.parts.minute.withLock { $0 = minute }
            world.clock.advance(by: .seconds(60))
        }
        await world.clock.sleepers(dueIn: .seconds(60))
        let before = world.sampler.snapshot().histories
        running.cancel()
        await running.value
        #expect(before.received.hour == Array(repeating: 20, count: 30))
        #expect(World(file: file).sampler.snapshot().histories == before)
        let size = try #require(FileManager.default.attributesOfItem(atPath: folder.path("history"))[.size] as? Int)
        #expect(size < 200_000)
        let ofAnother = StatusHistoryFile(path: folder.path("history"), owner: "0x04 b")
        #expect(World(file: ofAnother).sampler.snapshot().histories == .init(), "the figures of another database")

        let whole = try String(contentsOfFile: folder.path("history"), encoding: .utf8)
        let long = "[" + Array(repeating: "1", count: 1_000).joined(separator: ",") + "]"
        for damaged in ["", "{", String(whole.dropLast(9)), whole.replacing(/"hour":\[[^\]]*\]/, with: "\"hour\":\(long)")] {
            try folder.write(damaged, to: "history")
            #expect(World(file: file).sampler.snapshot().histories == .init())
        }
    }
}

/// A sampler and a readiness on one manual clock. In each minute the ledger counts 20 received messages and 10 accepted pushes, 8 of them
/// sent. In each minute the server publishes one reply.
private struct World: Sendable {
    /// The start of a minute that is a multiple of ten.
    static let start = Timestamp(nanoseconds: 1_700_000_400_000_000_000)

    /// The state that the parts of the server show.
    final class Parts: Sendable {
        let minute = Mutex(0)
        /// The age of the oldest push at the last reading of the store, and the reading's own.
        let reading = Mutex<(oldestPushAge: Duration?, age: Duration)>((nil, .zero))
        let issues = Mutex<[Observation.Condition]>([])
        let canary = Mutex<StatusSnapshot.Canary?>(nil)
        let lateReplies = Mutex(0)
    }

    let clock = ManualClock()
    let parts = Parts()
    let readiness: Readiness
    let sampler: StatusSampler

    init(file: StatusHistoryFile = .init(path: nil, owner: "")) {
        let parts = parts
        let time = SteadyTime(clock: clock, start: Self.start)
        let readiness = Readiness(
            relayCount: 0, publicKey: nil, readyFile: nil, time: time, logger: quietLogger,
            issues: { parts.issues.withLock { $0 } })
        self.readiness = readiness
        var sources = StatusSources { .init($0, pushLifetime: "1h", shell: OperatorShell(publicKey: "0x02"), runbook: nil) }
        sources.readiness = { readiness.observation }
        sources.store = {
            let minute = Int64(parts.minute.withLock { $0 })
            var figures = StoreFigures()
            figures.ledger.counts = [
                .received: 20 * minute, .accepted: 10 * minute, .sent: 8 * minute, .deadToken: minute, .expired: minute,
            ]
            let (oldestPushAge, age) = parts.reading.withLock(\.self)
            return (StoreReading(figures: figures, oldestPushAge: oldestPushAge), age)
        }
        sources.engine = {
            var engine = StatusSources.Engine()
            engine.messagesInFlight = 1
            engine.waitingReplies = 2
            engine.topicDirectoryEntries = 3
            return engine
        }
        sources.canary = { parts.canary.withLock { $0 } }
        sources.replyTimes = {
            ReplyTimes(bounds: [1], counts: [parts.minute.withLock { $0 }, parts.lateReplies.withLock { $0 }])
        }
        sources.files = {
            var files = StatusSnapshot.Files()
            files.databaseBytes = 1
            return files
        }
        sampler = StatusSampler(
            sources, serverName: "one", publicKey: "0x04", file: file, time: time, wallClock: WallClock { time.now })
    }
}
