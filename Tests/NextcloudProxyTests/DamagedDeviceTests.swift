import HTTPClient
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// A device whose row in the database is damaged.
@Suite(.safetyNet)
struct DamagedDeviceTests {
    private static let accountKeyURL = "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json"

    private func damage(_ session: String, in world: ProxyWorld) throws {
        world.store.damage(try #require(DeviceIdentifier(NotificationsTests.identifier(session))))
    }

    @Test func `its notifications fail, the others of the batch are accepted, and its server keeps it`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            try damage("alice_files_android", in: world)
            let entries = NotificationsTests.batch.entries.map { GatewayVectors.notification($0).entry.deviceIdentifier }
            let damaged = entries.count { $0 == NotificationsTests.identifier("alice_files_android") }
            let answer = try await world.client.send(.post, "/notifications", NotificationsTests.batch.body)
            #expect(answer.body == #"{"unknown":[],"failed":\#(damaged)}"#)
            #expect(damaged > 0 && world.store.accepted.count == entries.count - damaged)
        }
    }

    @Test func `it registers again only with a proof, since nobody knows its key`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            try damage("alice_talk_ios", in: world)
            #expect(try await world.post("alice_talk_ios").status == 409)
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 403)
            #expect(world.store.devices.isEmpty)
            world.proof.show(GatewayVectors.publicKey("user_alice_rotated"), at: Self.accountKeyURL)
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 200)
            #expect(world.store.devices.map(\.identifier.text) == [NotificationsTests.identifier("alice_talk_ios")])
        }
    }

    @Test func `its unregistration is told to come back later, and removes nothing`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            try damage("alice_talk_ios", in: world)
            let answer = try await world.client.send(.delete, "/devices?" + DevicesTests.deletion("alice_talk_ios"))
            #expect(answer.status == 503 && answer.retryAfter == "10")
            #expect(try await world.post("alice_talk_ios").status == 409)
        }
    }
}
