import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// A server as a process under a clock that makes steps, which a library in front of the C library's shows it.
@Suite(.fewAtATime)
struct ClockStepTests {
    /// Adds the seconds that a file has to the system's clock.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        int clock_gettime(clockid_t id, struct timespec *time) {
            static int (*next)(clockid_t, struct timespec *);
            if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
            int result = next(id, time);
            if (result != 0 || id != CLOCK_REALTIME) return result;
            FILE *file = fopen(getenv("CLOCK_STEP"), "r");
            long seconds = 0;
            if (file && fscanf(file, "%ld", &seconds) == 1) time->tv_sec += seconds;
            if (file) fclose(file);
            return result;
        }
        """

    private static func environment(in folder: TemporaryFolder) async throws -> [String: String] {
        try folder.write(source, to: "clock.c")
        let library = folder.path("clock.so")
        let compiled = try await ChildProcess.run(
            "/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, folder.path("clock.c"), "-ldl"])
        try #require(compiled.exitCode == 0, "\(compiled.error)")
        return ["LD_PRELOAD": library, "CLOCK_STEP": folder.path("step")]
    }

    private static func step(_ days: Int, in folder: TemporaryFolder) throws { try step(seconds: days * 86_400, in: folder) }

    private static func step(seconds: Int, in folder: TemporaryFolder) throws {
        try Data("\(seconds)".utf8).write(to: URL(filePath: folder.path("step")))
    }

    @Test(arguments: [false, true])
    func `a canary goes on after the clock was set back ten minutes, and no age is negative`(isRestarted: Bool) async throws {
        let folder = try TemporaryFolder()
        let environment = try await Self.environment(in: folder)
        func start() async throws -> ServerProcess {
            try await ServerProcess.start(in: folder, settings: ["canary.interval": "10s"], environment: environment)
        }
        func check(_ server: ServerProcess, count: Int) async throws -> String {
            try await AdminClient(server).body(of: "/metrics") {
                $0.contains("pushserver_canary_checks_total{result=\"succeeded\"} \(count)\n") || !$0.contains("{result=\"failed\"} 0\n")
            }
        }
        var server = try await start()
        var metrics = try await check(server, count: 1)
        if isRestarted { await server.kill() }
        try Self.step(seconds: -600, in: folder)
        if isRestarted { server = try await start() }
        metrics = try await check(server, count: isRestarted ? 1 : 2)
        #expect(metrics.contains("pushserver_canary_checks_total{result=\"failed\"} 0\n"), "\(server.log.all)")
        let ages = metrics.split(separator: "\n").filter { $0.contains("_age_seconds ") && !$0.hasPrefix("#") }
        #expect(ages.count >= 4)
        for age in ages { #expect(age.split(separator: " ").last.flatMap { Double($0) }.map { (0..<600).contains($0) } == true, "\(age)") }
        #expect(await server.terminate() == 0)
    }

    @Test func `a start 200 days ahead loses no waiting push, and delivers it once the clock is back`() async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let environment = try await Self.environment(in: folder)
            gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let settings = ["gorush.url": await gorush.url]
            let first = try await ServerProcess.start(in: folder, settings: settings, environment: environment)
            let key = try serverKey(of: first)
            let (alice, bob) = (ProtocolClient(server: key), ProtocolClient(server: key))
            let network = Network(first)
            try await network.publish(alice.envelope(alice.registration(version: 5)))
            #expect(try await registrationResponse(to: alice, from: network).success)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            _ = try await network.firstReply { bob.open($0)?.payload }
            #expect(await first.terminate() == 0)

            gorush.breakDown(nil)
            try Self.step(200, in: folder)
            let second = try await ServerProcess.start(in: folder, settings: settings, environment: environment)
            #expect(await second.log.wait { $0.contains("the wall clock has made a step") })
            let warnings = try await Network(second).admin.get("/health/ready")
            #expect(warnings.status == 200)
            try Self.step(0, in: folder)
            #expect(await second.log.wait { $0.contains("the wall clock is back") })
            #expect(await gorush.waitForNotifications(count: 1).map(\.tokens) == [[alice.registration().deviceToken.text]])
            #expect(await second.terminate() == 0)
            try await second.audit()
        }
    }
}
