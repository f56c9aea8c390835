import Foundation
import TestSupport
import Testing
import Wire

/// Registrations with dead tokens, and the HTTP endpoint that restores them.
@Suite(.fewAtATime)
struct DeadTokenRestoreTests {
    @Test(arguments: TestDatabase.allCases)
    func `a dead device is unregistered, and an operator can restore it`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            try await world.loseDevice()
            #expect(try await world.request() == .notRegistered)
            // The tombstone blocks the old version too.
            #expect(try await world.register(world.alice, version: 1) == .versionMismatch)

            #expect(try await world.restore("{\"ids\":[1]}") == (200, "{\"restored\":1}\n"))
            #expect(try await world.request() == nil)
            #expect(try await world.network.admin.metric("pushserver_topic_directory_entries") == 2)
            // A live registration cannot be restored again.
            #expect(try await world.restore("{\"ids\":[1]}").status == 404)
            #expect(try await world.restore("{\"ids\":null}") == (200, "{\"restored\":0}\n"))
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a restore skips a device that has registered since`(database: TestDatabase) async throws {
        try await withServerWorld(on: database) { world async throws in
            try await world.loseDevice("ExpiredToken")
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(try await world.restore("{\"ids\":[1]}").status == 404)
            #expect(try await world.register(world.alice, version: 1) == .versionMismatch)
        }
    }

    @Test func `restoring requires the operator's token and a valid body`() async throws {
        try await withServerWorld { world async throws in
            try await world.loseDevice()
            let token = try String(contentsOfFile: world.adminTokenFile, encoding: .utf8)
            let mode = try FileManager.default.attributesOfItem(atPath: world.adminTokenFile)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            for authorization in [nil, "Bearer", "Bearer ", "Bearer \(token.dropLast())", token, "Basic \(token)"] as [String?] {
                #expect(try await world.restore("{\"ids\":null}", authorization: authorization).status == 401)
            }
            for body in ["", "{", "[1]", #"{"ids":["1"]}"#, #"{"ids":[1.5]}"#, #"{"ids":{}}"#] {
                let answer = try await world.restore(body)
                #expect(answer.status == 400 && answer.body.contains("ids"))
            }
            #expect(try await world.restore("{\"ids\":[7,-1,9223372036854775807]}").status == 404)
            #expect(try await world.request() == .notRegistered)
            #expect(try await world.restore("{\"ids\":[7,1]}") == (200, "{\"restored\":1}\n"))
            #expect(!world.log.contains(token))
        }
    }
}
