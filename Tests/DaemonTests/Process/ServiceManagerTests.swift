import Foundation
import ServiceLifecycle
import TestServers
import TestSupport
import Testing

@testable import Daemon

/// The server's messages to systemd (INTERFACE.md, "systemd").
@Suite(.fewAtATime, .safetyNet)
struct ServiceManagerTests {
    @Test(arguments: [false, true])
    func `the service manager learns that the server listens, even without a node, and that it stops`(isAbstract: Bool) async throws {
        let status = Condition(500)
        let node = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: status.value, body: "[]") }
        }
        let address = try #require(node.url.split(separator: "://").last)
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(in: folder, isAbstract: isAbstract)
        let server = try ServerProcess.launch(
            in: folder,
            settings: [
                "transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.history": "false", "shutdown.gracePeriod": "20s",
            ], environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "600000000"])
        await socket.wait { $0.hasPrefix("READY=1\nSTATUS=starting") }
        await socket.wait { $0.hasPrefix("READY=1\nSTATUS=not ready: node \(address): /waku/2/rs/16/32: the node responded with 500") }
        #expect(await server.log.wait { $0.contains("] not ready ") })
        #expect(!FileManager.default.fileExists(atPath: folder.path("pushserver.json")))
        status.change { $0 = 200 }
        #expect(await server.log.wait { $0.hasSuffix(" warning [Daemon] ready") })
        await socket.wait { $0.hasPrefix("READY=1\nSTATUS=ready") }
        await socket.wait { $0 == "WATCHDOG=1" }
        status.change { $0 = 503 }
        await socket.wait { $0.hasPrefix("READY=1\nSTATUS=not ready: node \(address): /waku/2/rs/16/32: the node responded with 503") }
        status.change { $0 = 200 }
        #expect(await server.log.wait { $0.contains(" warning [Daemon] ready again after=") })
        #expect(await server.terminate() == 0)
        // The timeout is 20 s for work in flight, 5 s for writes, and one second for the last line.
        await socket.wait { $0 == "STOPPING=1\nEXTEND_TIMEOUT_USEC=26000000\nSTATUS=draining" }
        node.stop()
    }

    @Test func `the watchdog vouches for the process, not for a database on another machine`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(in: folder)
        let server = try await ServerProcess.start(
            in: folder, settings: postgres.serverSettings, environment: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "500000"])
        await socket.wait { $0.hasPrefix("READY=1\nSTATUS=ready") }
        postgres.freeze()
        try await server.waitUntilNotReady(because: "the database")
        await socket.wait(for: "WATCHDOG=1", count: socket.all.count { $0 == "WATCHDOG=1" } + 3)
        postgres.thaw()
        #expect(await server.terminate() == 0)
        await postgres.stop()
    }

    @Test func `a long start gets more time while it reads or writes, and none while it hangs`() {
        var progress = StartProgress()
        #expect(progress.observe(byteCount: 7 << 20, after: .seconds(0)) == nil)
        #expect(
            progress.observe(byteCount: 9 << 20, after: .seconds(10)) == [
                .starting(atMost: .seconds(60)), .status("opening the database: 9 MiB read and written in 10 s"),
            ])
        #expect(progress.observe(byteCount: 9 << 20, after: .seconds(20)) == nil)
        #expect(progress.observe(byteCount: 10 << 20, after: .seconds(30)) != nil)
    }

    @Test func `a service whose node and gorush are down starts, and is not ready`() async throws {
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(in: folder)
        let server = try ServerProcess.launch(
            in: folder,
            settings: [
                "transport.kind": "waku", "transport.waku.url": "http://127.0.0.1:1", "gorush.url": "http://127.0.0.1:1",
            ], environment: ["NOTIFY_SOCKET": socket.name])
        await socket.wait { $0.hasPrefix("READY=1\n") }
        #expect(await server.log.wait { $0.contains("] not ready ") })
        #expect(await server.terminate() == 0)
    }

    @Test func `without a service manager nothing is sent, and a missing socket delays nothing`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder, environment: ["NOTIFY_SOCKET": folder.path("nobody")])
        #expect(await server.terminate() == 0)
        #expect(ServiceManager([:]) == nil)
        #expect(ServiceManager(["NOTIFY_SOCKET": "relative"]) == nil)
        #expect(ServiceManager(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 107)]) == nil)
    }

    @Test func `the status is sent as one line`() async throws {
        let socket = try NotifySocket(in: TemporaryFolder())
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": socket.name]))
        #expect(manager.notify(.status("one\nREADY=1\ntwo")))
        await socket.wait { $0 == "STATUS=one READY=1 two" }
    }

    @Test(
        arguments: [(nil, "30000000", 30), ("7", "30000000", 30), ("8", "30000000", nil), (nil, "0", nil), (nil, nil, nil)]
            as [(String?, String?, Int?)])
    func `a watchdog for another process is ignored`(process: String?, interval: String?, seconds: Int?) throws {
        var environment = ["NOTIFY_SOCKET": "/run/systemd/notify"]
        environment["WATCHDOG_PID"] = process
        environment["WATCHDOG_USEC"] = interval
        #expect(try #require(ServiceManager(environment, process: 7)).watchdogLimit == seconds.map { .seconds($0) })
    }

    /// A store whose writer hangs or fails on demand.
    private struct Writer {
        struct Failure: Error {}
        let isHanging = Condition(false)
        let fails = Condition(false)
        let startedCount = Condition(0)

        @Sendable func write() async throws {
            startedCount.change { $0 += 1 }
            await isHanging.wait { !$0 }
            if fails.value { throw Failure() }
        }
    }

    @Test func `the watchdog is notified of each completed write, failed or not, and not while the writer hangs`() async throws {
        let socket = try NotifySocket(in: TemporaryFolder())
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "30000000"]))
        let (clock, writer) = (ManualClock(), Writer())
        let watch = WriterWatch(serviceManager: manager, clock: clock, write: writer.write)
        let task = Task { try await watch.run() }
        await clock.sleepers(dueIn: .seconds(10))
        await socket.wait(count: 1)
        writer.fails.change { $0 = true }
        clock.advance(by: .seconds(10))
        await clock.sleepers(dueIn: .seconds(10))
        await socket.wait(count: 2)
        writer.isHanging.change { $0 = true }
        clock.advance(by: .seconds(10))
        await writer.startedCount.wait { $0 == 3 }
        clock.advance(by: .seconds(10))
        #expect(socket.all == ["WATCHDOG=1", "WATCHDOG=1"])
        writer.isHanging.change { $0 = false }
        await clock.sleepers(dueIn: .seconds(10))
        await socket.wait(count: 3)
        task.cancel()
        try await task.value
    }

    @Test func `a database on another machine is none of the watchdog's business`() async throws {
        let socket = try NotifySocket(in: TemporaryFolder())
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "30000000"]))
        let clock = ManualClock()
        let watch = WriterWatch(serviceManager: manager, clock: clock, write: nil)
        let task = Task { try await watch.run() }
        for count in 1...3 {
            await clock.sleepers(dueIn: .seconds(10))
            await socket.wait(count: count)
            clock.advance(by: .seconds(10))
        }
        task.cancel()
        try await task.value
    }

    @Test func `a watchdog with a short limit is notified in time`() async throws {
        let manager = try #require(ServiceManager(["NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "6000000"]))
        let clock = ManualClock()
        let watch = WriterWatch(serviceManager: manager, clock: clock) {}
        let task = Task { try await watch.run() }
        await clock.sleepers(dueIn: .seconds(3))
        task.cancel()
        try await task.value
    }
}

/// The reports on the start, and on each loss and return of readiness.
@Suite(.safetyNet) struct ReadinessStateTests {
    @Test func `a slow start is reported, then the first readiness, then each change`() {
        var state = ReadinessState()
        for _ in 1...40 { #expect(state.update(["no node"], isListening: true) == nil) }
        #expect(state.status(warnings: []) == "starting; no node")
        #expect(state.update(["no node"], isListening: true) == .notReady)
        #expect(state.status(warnings: []) == "not ready: no node")
        #expect(state.update(["no node"], isListening: true) == nil)
        #expect(state.update(["no gorush"], isListening: true) == .otherReasons)
        #expect(state.update([], isListening: false) == nil)
        #expect(state.update([], isListening: true) == .readyAfterDelay)
        #expect(state.status(warnings: ["a dry run"]) == "ready; a dry run")
        #expect(state.update([], isListening: true) == nil)
        #expect(state.update(["no node"], isListening: true) == .notReady)
        #expect(state.status(warnings: ["a dry run"]) == "not ready: no node")
        #expect(state.update(["no node", "no gorush"], isListening: true) == .otherReasons)
        #expect(state.update([], isListening: true) == .readyAgain)
        #expect(state.update([], isListening: true) == nil)
    }

    @Test func `a quick start is not reported as slow`() {
        var state = ReadinessState()
        for _ in 1...40 { #expect(state.update(["not polled yet"], isListening: false) == nil) }
        #expect(state.update([], isListening: true) == .ready)
    }

    @Test func `the checks are frequent during a normal start only`() {
        var state = ReadinessState()
        for _ in 1...40 {
            _ = state.update(["no node"], isListening: true)
            #expect(state.interval == .milliseconds(50))
        }
        _ = state.update(["no node"], isListening: true)
        #expect(state.interval == .seconds(1))
    }
}
