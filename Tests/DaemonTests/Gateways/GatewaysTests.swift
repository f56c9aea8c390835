import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

/// The gateways in a server: the path from HTTP through the outbox to gorush and back.
@Suite(.fewAtATime)
struct GatewaysTests {
    static func configuration(_ stub: StubGorush) async -> String {
        """
        gorush: { url: "\(await stub.url)", batchMode: single }
        gateways:
          listen: 127.0.0.1:0
          nextcloudProxy:
            firstMissGrace: 0s
            registrationsPerMinute: 0
            apps:
              - { userAgent: Nextcloud-Talk, token: apns, platform: ios, topic: com.example.talk, voipTopic: com.example.talk.voip }
              - { token: apns, platform: ios, topic: com.example.files }
              - { token: fcm, platform: android }
          softphone:
            apps:
              com.example.softphone.ios: { platform: ios, topic: com.example.softphone }
              com.example.softphone.android: { platform: android }
        """
    }

    /// Runs a server with a stub of gorush behind it.
    static func withServer(
        on database: TestDatabase = .sqlite, _ test: (GatewayClient, StubGorush, ServerProcess) async throws -> Void
    ) async throws {
        try await withStubGorush { stub in
            let server = try await ServerProcess.start(in: TemporaryFolder(), on: database, configuration: await configuration(stub))
            try await test(try client(server), stub, server)
            #expect(await server.terminate() == 0)
            try await server.audit()
        }
    }

    static func client(_ server: ServerProcess) throws -> GatewayClient {
        GatewayClient(url: "http://\(try #require(server.addresses.gateways))")
    }

    static func register(_ sessions: String..., with client: GatewayClient) async throws {
        for session in sessions {
            let userAgent = session.contains("talk") ? "Mozilla/5.0 (iOS) Nextcloud-Talk v23.0.2" : ""
            let form = GatewayVectors.request(session, "post_devices_form")
            #expect(try await client.send(.post, "/devices", form, headers: [("User-Agent", userAgent)]).status == 200)
        }
    }

    static func notify(_ names: String..., with client: GatewayClient) async throws -> String {
        let form = names.map { "notifications[]=" + encode(GatewayVectors.notification($0).entry_json_string) }
        return try await client.send(.post, "/notifications", form.joined(separator: "&")).body
    }

    private static func encode(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    static let taken = #"{"unknown":[],"failed":0}"#

    /// Returns the posted notifications without their notification ids and the ends of their lifetimes.
    static func posted(_ stub: StubGorush, count: Int) async throws -> [JSONValue] {
        _ = await stub.waitForNotifications(count: count)
        return stub.posts.all.flatMap { post -> [JSONValue] in
            guard case .array(let notifications)? = JSONValue(text: post.body)?["notifications"] else { return [] }
            return notifications.map { notification in
                guard case .object(var members) = notification else { return notification }
                members["notif_id"] = nil
                members["expiration"] = nil
                guard case .object(var android)? = members["android"] else { return .object(members) }
                android["ttl"] = nil
                members["android"] = android.isEmpty ? nil : .object(android)
                return .object(members)
            }
        }
    }

    static func expected(_ name: String) throws -> JSONValue {
        guard case .object(var members)? = GatewayVectors.all.gorush_expected[name] else { throw POSIXError(.ENOENT) }
        members["notif_id"] = nil
        return .object(members)
    }

    @Test(
        arguments: [
            "talk_chat_oaep", "talk_call_oaep", "files_share_ios_pkcs1", "delete_all_pkcs1", "files_share_android_pkcs1",
            "twofactor_android_oaep",
        ], TestDatabase.allCases)
    func `a Nextcloud notification reaches gorush with the expected fields`(name: String, database: TestDatabase) async throws {
        try await Self.withServer(on: database) { client, stub, _ async throws in
            try await Self.register("alice_talk_ios", "alice_files_ios", "alice_files_android", with: client)
            let before = Int(Date.now.timeIntervalSince1970)
            #expect(try await Self.notify(name, with: client) == Self.taken)
            #expect(try await Self.posted(stub, count: 1) == [Self.expected(name)])
            let notification = try #require(stub.notifications.all.first)
            // A call rings for a minute, and other notifications wait for a day.
            let lifetime = name.contains("call") ? 60 : 86_400
            if notification.platform == 1 {
                let end = try #require(notification.expiration)
                #expect((before...Int(Date.now.timeIntervalSince1970) + 1).contains(end - lifetime))
            } else {
                let seconds = try #require(notification.timeToLive.flatMap { Int($0.dropLast()) })
                #expect((1...lifetime).contains(seconds))
            }
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a device with a dead token is unknown the next time; without its token for calls it is notified by alert`(
        database: TestDatabase
    ) async throws {
        try await Self.withServer(on: database) { client, stub, server async throws in
            try await Self.register("alice_talk_ios", "alice_files_ios", with: client)
            let database = ServerDatabase(of: server)
            stub.fail(token: GatewayVectors.token("apns_voip").pushToken, with: "Unregistered")
            #expect(try await Self.notify("talk_call_oaep", with: client) == Self.taken)
            try await database.wait(for: "nextcloud_device WHERE voip_secrets IS NOT NULL") { $0 == 0 }
            #expect(try await Self.notify("talk_call_pkcs1", with: client) == Self.taken)
            let notifications = await stub.waitForNotifications(count: 2)
            #expect(notifications.last?.tokens == [GatewayVectors.token("apns_normal").pushToken])

            stub.fail(token: GatewayVectors.token("apns_normal").pushToken, with: "Unregistered")
            #expect(try await Self.notify("files_share_ios_oaep", with: client) == Self.taken)
            try await database.wait(for: "nextcloud_device WHERE is_dead") { $0 == 1 }
            #expect(
                try await Self.notify("files_share_ios_pkcs1", with: client)
                    == #"{"unknown":["\#(GatewayVectors.session("alice_files_ios").deviceIdentifier)"],"failed":1}"#)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `a notification that was reported as accepted survives a kill`(database: TestDatabase) async throws {
        try await withStubGorush { stub in
            let (folder, configuration) = (try TemporaryFolder(), await Self.configuration(stub))
            stub.breakDown(.answer(status: 503), hidesConfiguration: true)
            let first = try await ServerProcess.start(in: folder, on: database, configuration: configuration)
            let client = try Self.client(first)
            try await Self.register("alice_talk_ios", "alice_files_android", with: client)
            #expect(try await Self.notify("talk_chat_oaep", "files_share_android_oaep", with: client) == Self.taken)
            await first.kill()
            stub.breakDown(nil)
            let second = try await ServerProcess.start(in: folder, on: database, configuration: configuration)
            let tokens = await stub.waitForNotifications(count: 2).flatMap(\.tokens)
            #expect(Set(tokens) == [GatewayVectors.token("apns_normal").pushToken, GatewayVectors.token("fcm").pushToken])
            // The repeated request causes no second push, even after the restart.
            #expect(try await Self.notify("talk_chat_oaep", with: try Self.client(second)) == Self.taken)
            #expect(await second.terminate() == 0)
            try await second.audit()
            #expect(stub.notifications.all.count == 2)
        }
    }

    @Test(arguments: TestDatabase.allCases)
    func `the response to a softphone's push is its outcome, and the push never arrives later`(database: TestDatabase) async throws {
        try await Self.withServer(on: database) { client, stub, _ async throws in
            func push(_ token: String) async throws -> JSONValue? {
                let body = #"{"AppId":"com.example.softphone.ios","DeviceToken":"\#(token)","verb":"NotifyReprovision","Selector":"s"}"#
                return try await client.send(.post, "/pnm2/send", body, type: "application/json").json?["code"]
            }
            let (alive, dead, mixed) = (
                String(repeating: "a1", count: 32), String(repeating: "d1", count: 32), String(repeating: "b1", count: 32)
            )
            stub.fail(token: dead, with: "Unregistered")
            stub.fail(token: mixed, with: "BadDeviceToken")
            #expect(try await push(alive) == .number(200))
            #expect(try await push(dead) == .number(404))
            // The first rejection does not count as proof (DELIVERY_RULES.md "Is the phone gone"): the client keeps its token.
            #expect(try await push(mixed) == .number(500))
            stub.fail(token: alive, with: "InternalServerError")
            #expect(try await push(alive) == .number(500))
            stub.fail(token: alive, with: nil)
            #expect(try await push(alive) == .number(200))
            #expect(stub.notifications.all.count == 5)
        }
    }

    @Test func `without an address, no gateway listens`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        #expect(server.addresses.gateways == nil)
        #expect(await server.terminate() == 0)
    }
}
