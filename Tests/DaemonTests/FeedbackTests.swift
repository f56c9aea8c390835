import Foundation
import TestSupport
import Testing
import Wire

/// gorush's feedback hook, and the way back from it, as gorush and operators use them: over HTTP (GORUSH.md §8, DELIVERY.md "Feedback").
@Suite(.fewAtATime)
struct FeedbackTests {
    @Test func `a dead device is unregistered, and an operator can bring it back`() async throws {
        try await withServerWorld { world async throws in
            let notification = try await world.push()
            #expect(try await world.feedback(on: notification, "Unregistered") == (200, "\n"))
            #expect(try await world.request() == .notRegistered)
            // Not by its version either: it stays as a tombstone.
            #expect(try await world.register(world.alice, version: 1) == .versionMismatch)

            #expect(try await world.restore("{\"ids\":[1]}") == (200, "{\"restored\":1}\n"))
            #expect(try await world.request() == nil)
            #expect(try await world.network.admin.metric("pushserver_query_topics") == 2)
            // What lives is not brought back once more.
            #expect(try await world.restore("{\"ids\":[1]}").status == 404)
            #expect(try await world.restore("{\"ids\":null}") == (200, "{\"restored\":0}\n"))
        }
    }

    @Test func `who has come back since stays as it is`() async throws {
        try await withServerWorld { world async throws in
            #expect(try await world.feedback(on: world.push(), "ExpiredToken").status == 200)
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(try await world.restore("{\"ids\":[1]}").status == 404)
            #expect(try await world.register(world.alice, version: 1) == .versionMismatch)
        }
    }

    @Test func `an ambiguous verdict needs a second one, ten minutes later`() async throws {
        try await withServerWorld { world async throws in
            for _ in 1...2 {
                #expect(try await world.feedback(on: world.push(), "BadDeviceToken").status == 200)
                #expect(try await world.request() == nil)
            }
            try world.database.execute("UPDATE suspect_token SET suspected_at = suspected_at - 600000000000")
            #expect(try await world.feedback(on: world.push(), "BadDeviceToken").status == 200)
            #expect(try await world.request() == .notRegistered)
        }
    }

    @Test func `what is not the device's fault costs no registration`() async throws {
        try await withServerWorld { world async throws in
            for error in ["ServiceUnavailable", "InvalidProviderToken", "a text that nobody knows"] {
                #expect(try await world.feedback(on: world.push(), error).status == 200)
                #expect(try await world.request() == nil, "\(error)")
            }
        }
    }

    @Test func `a verdict about a push that nobody posted is answered and has no effect`() async throws {
        try await withServerWorld { world async throws in
            var notification = try await world.push()
            notification.identifier = String(repeating: "0", count: 32)
            #expect(try await world.feedback(on: notification, "Unregistered").status == 200)
            #expect(try await world.request() == nil)
        }
    }

    @Test func `junk is refused with a reason`() async throws {
        try await withServerWorld { world async throws in
            for body in ["", "{", "[]", "\"Unregistered\"", #"{"error":7}"#] {
                let answer = try await world.network.admin.post("/gorush/feedback", body)
                #expect(answer.status == 400 && answer.body.contains("gorush's log"), "\(body)")
            }
            #expect(try await world.network.admin.post("/gorush/feedback", String(repeating: " ", count: 70_000)).status == 413)
            // Several at once are not what gorush posts.
            let notification = try await world.push()
            let entry = world.gorush.feedback(on: notification, error: "Unregistered")
            #expect(try await world.network.admin.post("/gorush/feedback", "[\(entry)]").status == 400)
            #expect(try await world.request() == nil)
            #expect(try await world.network.admin.get("/gorush/feedback").status != 200)
        }
    }

    @Test func `with a secret, only who shows it is heard`() async throws {
        try await withServerWorld(settings: ["gorush.feedbackSecret": "open sesame"]) { world async throws in
            let entry = world.gorush.feedback(on: try await world.push(), error: "Unregistered")
            #expect(try await world.network.admin.post("/gorush/feedback", entry).status == 401)
            for (name, value) in [("X-Feedback-Secret", "open"), ("Authorization", "Bearer open sesame")] {
                #expect(try await world.network.admin.post("/gorush/feedback", entry, headers: [(name, value)]).status == 401)
            }
            #expect(try await world.request() == nil)
            let shown = [(name: "X-Feedback-Secret", value: "open sesame")]
            #expect(try await world.network.admin.post("/gorush/feedback", entry, headers: shown).status == 200)
            #expect(try await world.request() == .notRegistered)
            #expect(!world.log.contains("open sesame"))
            // An operator hears of it: gorush says nothing.
            #expect(world.log.components(separatedBy: "gorush's feedback is refused").count == 2)
            #expect(try await world.network.admin.metric("pushserver_gorush_feedback_refused_total") == 3)
        }
    }

    @Test func `in a dry run nobody has anything to say`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        #expect(try await AdminClient(server).post("/gorush/feedback", "{}").status == 404)
        #expect(await server.terminate() == 0)
    }

    @Test func `restoring wants the operator's token and a body that can be understood`() async throws {
        try await withServerWorld { world async throws in
            #expect(try await world.feedback(on: world.push(), "Unregistered").status == 200)
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
