import Bytes
import HTTPClient
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// Registrations of a known device under another account's key (GATEWAY_PROTOCOLS.md §2.5).
@Suite(.safetyNet)
struct TakeoverTests {
    private static let malloryCloudID = "mallory@cloud.attacker.example"
    private static let malloryKeyURL = "https://cloud.attacker.example/ocs/v2.php/identityproof/key/mallory?format=json"
    /// A configuration with a limit of token numbers that no search reaches.
    private static let endless = NextcloudProxy.Configuration(
        apps: ProxyWorld.apps, firstMissGrace: .zero, registrationsPerMinute: 0, maximumTokenNumber: .max)

    /// Returns Alice's device identifier, signed with Mallory's key. Mallory's own server shows that key.
    private static func takeover() throws -> String {
        try DevicesTests.forged("self_consistent_forgery") + "&cloudId=" + ProxyWorld.encode(malloryCloudID)
    }

    /// Registers Alice's device, and makes Mallory's server show the key of the forged signature.
    private func prepare(_ world: ProxyWorld) async throws {
        _ = try await world.post("alice_talk_ios")
        world.proof.show(GatewayVectors.publicKey("attacker"), at: Self.malloryKeyURL)
    }

    @Test func `a proven key of another account does not take over a device, which stays known to its server`() async throws {
        let configuration = NextcloudProxy.Configuration(
            apps: ProxyWorld.apps, firstMissGrace: .zero, registrationsPerMinute: 0, maximumTokenNumber: 1_000)
        try await withProxy(configuration) { world async throws in
            try await prepare(world)
            let before = world.store.devices
            #expect(try await world.client.send(.post, "/devices", Self.takeover()).status == 403)
            #expect(world.proof.questions == [Self.malloryKeyURL])
            #expect(world.store.devices == before)
            let answer = try await world.notify([NotificationsTests.entry("talk_chat_oaep")])
            #expect(answer.body == #"{"unknown":[],"failed":0}"#)
        }
    }

    @Test(arguments: [(41, 403), (42, 200)])
    func `app passwords are tried up to the maximum number`(maximum: Int, status: Int) async throws {
        let configuration = NextcloudProxy.Configuration(
            apps: ProxyWorld.apps, registrationsPerMinute: 0, maximumTokenNumber: maximum)
        try await withProxy(configuration) { world async throws in
            _ = try await world.post("alice_talk_ios")
            world.proof.show(
                GatewayVectors.publicKey("user_alice_rotated"),
                at: "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json")
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == status)
        }
    }

    @Test func `one search runs and three wait, a fifth gets 429, and a closed connection ends its search`() async throws {
        try await withProxy(Self.endless) { world async throws in
            try await prepare(world)
            try await withThrowingTaskGroup(of: GatewayClient.Answer.self) { group in
                for _ in 0...DeviceIdentifierSearch.maximumCount {
                    group.addTask { try await world.client.send(.post, "/devices", Self.takeover()) }
                }
                let first = try await group.next()
                #expect(first?.status == 429 && first?.retryAfter == "30")
                group.cancelAll()
            }
            await world.proxy.identifierSearch.waitUntilIdle()
            // The thread is free for the next search.
            world.proof.show(
                GatewayVectors.publicKey("user_alice_rotated"),
                at: "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json")
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 200)
        }
    }

    @Test func `an address may begin ten searches an hour`() async throws {
        let configuration = NextcloudProxy.Configuration(apps: ProxyWorld.apps, registrationsPerMinute: 0, maximumTokenNumber: 1)
        try await withProxy(configuration) { world async throws in
            try await prepare(world)
            var statuses: [Int] = []
            for _ in 0..<11 { statuses.append(try await world.client.send(.post, "/devices", Self.takeover()).status) }
            #expect(statuses == Array(repeating: 403, count: 10) + [429])
            world.advance(by: .seconds(360))
            #expect(try await world.client.send(.post, "/devices", Self.takeover()).status == 403)
        }
    }

    // MARK: The search

    @Test(
        arguments: [
            ("alice_talk_ios", "alice@cloud.example.com"), ("alice_files_ios", "alice@https://cloud.example.com/index.php/"),
            ("alice_files_android", "alice@Cloud.Example.com/"), ("bob_subpath", "bob@cloud.example.com/nextcloud"),
            ("bob_subpath", "bob@https://cloud.example.com/nextcloud/index.php/apps"), ("bob_http_scheme", "bob@http://nc.internal"),
        ])
    func `a cloud id in any spelling gives the number of the app password`(session: String, cloudID: String) throws {
        let vector = GatewayVectors.session(session)
        let (account, identifier) = (try #require(CloudID(cloudID)), try #require(DeviceIdentifier(vector.deviceIdentifier)))
        #expect(DeviceIdentifierSearch.tokenNumber(of: identifier, account, upTo: 100) == vector.tokenId)
        #expect(DeviceIdentifierSearch.tokenNumber(of: identifier, account, upTo: vector.tokenId - 1) == nil)
    }

    @Test func `a server may write its host in capitals`() throws {
        let identifier = DeviceIdentifier(SHA512.hash(Array(#"["alice@Cloud.Example.com:8443\/x",77]"#.utf8)))
        let account = try #require(CloudID("alice@Cloud.Example.com:8443/x"))
        #expect(DeviceIdentifierSearch.tokenNumber(of: identifier, account, upTo: 100) == 77)
        let other = try #require(CloudID("alice@cloud.example.com:8443/x"))
        #expect(DeviceIdentifierSearch.tokenNumber(of: identifier, other, upTo: 100) == nil)
    }

    @Test func `a user id that is not ASCII is escaped as PHP does`() throws {
        let vector = GatewayVectors.session("bob_unicode")
        var account = try #require(CloudID("zoe m@cloud.example.com"))
        account.user = "zoë m"
        let identifier = try #require(DeviceIdentifier(vector.deviceIdentifier))
        #expect(DeviceIdentifierSearch.tokenNumber(of: identifier, account, upTo: 100) == vector.tokenId)
    }
}
