import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// A server as a process under a clock that makes steps.
@Suite(.fewAtATime)
struct ClockStepTests {
    enum Interruption: CaseIterable {
        case none
        case kill
        case stop
    }

    @Test(arguments: Interruption.allCases)
    func `a canary goes on after the clock was set back ten minutes, and no age is negative`(after interruption: Interruption) async throws
    {
        let folder = try TemporaryFolder()
        let clock = try await PreloadedClock(in: folder)
        func start() async throws -> ServerProcess {
            try await ServerProcess.start(in: folder, settings: ["canary.interval": "10s"], environment: clock.environment)
        }
        func check(_ server: ServerProcess, count: Int) async throws -> String {
            try await AdminClient(server).body(of: "/metrics") {
                $0.contains("pushserver_canary_checks_total{result=\"succeeded\"} \(count)\n") || !$0.contains("{result=\"failed\"} 0\n")
            }
        }
        var server = try await start()
        var metrics = try await check(server, count: 1)
        switch interruption {
        case .none: break
        case .kill: await server.kill()
        // It leaves the tombstone of its canary.
        case .stop: #expect(await server.terminate() == 0)
        }
        try clock.step(seconds: -600)
        if interruption != .none { server = try await start() }
        metrics = try await check(server, count: interruption == .none ? 2 : 1)
        #expect(metrics.contains("pushserver_canary_checks_total{result=\"failed\"} 0\n"), "\(server.log.all)")
        let ages = metrics.split(separator: "\n").filter { $0.contains("_age_seconds ") && !$0.hasPrefix("#") }
        #expect(ages.count >= 4)
        for age in ages { #expect(age.split(separator: " ").last.flatMap { Double($0) }.map { (0..<600).contains($0) } == true, "\(age)") }
        #expect(await server.terminate() == 0)
    }

    @Test func `a start 200 days ahead loses no waiting push, and delivers it once the clock is back`() async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let clock = try await PreloadedClock(in: folder)
            gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let settings = ["gorush.url": await gorush.url]
            let first = try await ServerProcess.start(in: folder, settings: settings, environment: clock.environment)
            let key = try serverKey(of: first)
            let (alice, bob) = (ProtocolClient(server: key), ProtocolClient(server: key))
            let network = Network(first)
            try await network.publish(alice.envelope(alice.registration(version: 5)))
            #expect(try await registrationResponse(to: alice, from: network).success)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            _ = try await network.firstReply { bob.open($0)?.payload }
            #expect(await first.terminate() == 0)

            gorush.breakDown(nil)
            try clock.step(seconds: 200 * 86_400)
            let second = try await ServerProcess.start(in: folder, settings: settings, environment: clock.environment)
            #expect(await second.log.wait { $0.contains("the wall clock has made a step") })
            let warnings = try await Network(second).admin.get("/health/ready")
            #expect(warnings.status == 200)
            try clock.step(seconds: 0)
            #expect(await second.log.wait { $0.contains("the wall clock is back") })
            #expect(await gorush.waitForNotifications(count: 1).map(\.tokens) == [[alice.registration().deviceToken.text]])
            #expect(await second.terminate() == 0)
            try await second.audit()
        }
    }
}
