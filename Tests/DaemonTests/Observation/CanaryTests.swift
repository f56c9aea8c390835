import Envelope
import Foundation
import Observation
import Store
import TestServers
import TestSupport
import Testing
import Transport

@testable import Daemon

/// The canary: the server as its own client.
@Suite(.fewAtATime) struct CanaryTests {
    @Test(arguments: [false, true], TestDatabase.allCases)
    func `the canary's push passes through the node and is not posted to gorush`(isWaku: Bool, database: TestDatabase) async throws {
        try await withStubGorush { gorush in
            let node = try RestartableNode(on: Bus(), clock: .system)
            await node.start()
            let transport = ["transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.pollInterval": "20ms"]
            let server = try await ServerProcess.start(
                in: try TemporaryFolder(), on: database,
                settings: (isWaku ? transport : [:]).merging(["canary.interval": "1h", "gorush.url": await gorush.url]) { $1 })
            let database = ServerDatabase(of: server)
            try await database.wait(for: "push WHERE finished_at IS NOT NULL") { $0 == 1 }
            #expect(try database.count("push WHERE state = \(PushOutcome.discarded.rawValue)") == 1)
            #expect(try database.count("registration WHERE is_live") == 1)
            let admin = AdminClient(server)
            let (before, age, after) = (try await snapshotAge(admin), try await canaryAge(admin), try await snapshotAge(admin))
            #expect(Double(before) <= age && age <= Double(after) + 1)
            #expect(!server.log.all.contains { $0.contains("the canary fails") }, "\(server.log.all)")
            #expect(await server.terminate() == 0)
            #expect(gorush.notifications.all.isEmpty)
            #expect(try database.count("registration WHERE is_live") == 0, "a clean stop unregisters the canary")
            try await server.audit()
            await node.kill()
        }
    }

    private func snapshotAge(_ admin: AdminClient) async throws -> Int {
        let snapshot = try JSONDecoder().decode(StatusSnapshot.self, from: Data(try await admin.get("/status.json").body.utf8))
        return try #require(snapshot.canary).ageSeconds
    }

    private func canaryAge(_ admin: AdminClient) async throws -> Double {
        let lines = try await admin.get("/metrics").body.split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("pushserver_canary_age_seconds ") })
        return try #require(line.split(separator: " ").last.flatMap { Double($0) })
    }

    @Test func `a configured device receives the canary's pushes`() async throws {
        try await withStubGorush { gorush in
            let server = try await ServerProcess.start(
                in: try TemporaryFolder(),
                settings: [
                    "canary.interval": "1h", "canary.deviceToken": "my-own-phone", "gorush.url": await gorush.url,
                ])
            await gorush.waitForNotifications(count: 1)
            #expect(gorush.notifications.all.flatMap(\.tokens) == ["my-own-phone"])
            #expect(!server.log.all.contains { $0.contains("my-own-phone") })
            #expect(await server.terminate() == 0)
        }
    }

    @Test func `a canary whose request no node accepts reports it`() async throws {
        let node = try RawServer { connection in
            while let request = connection.readRequest() {
                connection.respond(status: request.hasPrefix("POST /relay/v1/messages") ? 500 : 200, body: "[]")
            }
        }
        let server = try ServerProcess.launch(
            in: try TemporaryFolder(),
            settings: [
                "transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.history": "false", "canary.interval": "10s",
            ])
        #expect(await server.log.wait { $0.contains("the canary fails") && $0.contains("500") }, "\(server.log.all)")
        _ = await server.terminate()
    }

    // MARK: Results

    @Test func `the start and the end of failures are reported, once each`() {
        var record = CanaryRecord(interval: .seconds(60))
        #expect(record.add(nil, at: time(1)) == nil)
        #expect(record.add("no reply", at: time(2)) == .fails("no reply"))
        #expect(record.add("another", at: time(3)) == nil)
        #expect(record.add(nil, at: time(4)) == .works)
        #expect(record.add(nil, at: time(5)) == nil)
    }

    @Test func `a failed check is a warning, which tells how long there was no success once that was three intervals`() {
        var record = CanaryRecord(interval: .seconds(60))
        #expect(record.warnings(at: time(1_000)) == [])
        _ = record.add(nil, at: time(1_000))
        _ = record.add("no reply", at: time(1_060))
        #expect(record.warnings(at: time(1_180)) == ["canary: the last check failed: no reply"] && !record.isLate(at: time(1_180)))
        #expect(record.warnings(at: time(1_181)) == ["canary: the server has accepted no test push for 181 s: no reply"])
        #expect(record.age(at: time(1_181)) == .seconds(181) && record.isLate(at: time(1_181)))
        _ = record.add(nil, at: time(1_200))
        #expect(record.warnings(at: time(2_000)) == [])
    }

    private func time(_ seconds: Int64) -> Duration { .seconds(seconds) }
}
