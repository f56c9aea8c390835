import Bytes
import Envelope
import Foundation
import HTTPClient
import HTTPGateways
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

/// F7cloud's document, section by section, with an origin and a proxy behind one address. The protocol is Nextcloud's under another name.
@Suite(.safetyNet)
struct F7cloudTests {
    private struct NoProof: IdentityProof {
        func key(of account: CloudID) async -> RSAPublicKey? { nil }
    }

    private struct Outbox: ProxyOutbox {
        let accepted = Recorder<GatewayNotification>()

        func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws {
            accepted.append(contentsOf: notifications.map(\.notification))
        }
    }

    private static func json(_ members: KeyValuePairs<String, String>) throws -> String {
        let object = JSONValue.object(Dictionary(uniqueKeysWithValues: members.map { ($0.key, .string($0.value)) }))
        return String(decoding: try JSONEncoder().encode(object), as: UTF8.self)
    }

    @Test func `checking, subscribing, being notified, and unsubscribing`() async throws {
        let (folder, outbox, token) = (try TemporaryFolder(), Outbox(), GatewayVectors.token("apns_normal"))
        let store = try SQLiteStore(
            path: folder.path("proxy.sqlite"), identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, logger: quietLogger)
        let proxy = NextcloudProxy(
            configuration: .init(apps: [AppRule(platform: .ios, topic: "com.example.f7")], firstMissGrace: .zero), store: store,
            outbox: outbox, proof: NoProof(), clock: ManualClock(), wallClock: .system, logger: quietLogger)
        try await withOrigin(beside: [proxy]) { world async throws in
            // "Checking the capabilities of the F7cloud server"
            let capabilities = try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities")
            #expect(
                capabilities.json?["ocs"]?["data"]?["capabilities"]?["notifications"]?["push"] == ["devices", "object-data", "delete"])

            // "Subscribing at the F7cloud server"
            let body = try Self.json([
                "pushTokenHash": token.pushTokenHash, "devicePublicKey": GatewayVectors.key("device_ios").public_spki_pem,
                "proxyServer": world.client.url.replacing("127.0.0.1", with: "localhost") + "/",
            ])
            #expect(try await world.ocs(.post, OriginWorld.push, body).status == 401)
            let subscribed = try await world.ocs(.post, OriginWorld.push, body, as: "alice 7")
            #expect(subscribed.status == 201)
            #expect(try await world.ocs(.post, OriginWorld.push, body, as: "alice 7").status == 200)
            func field(_ name: String) -> String { subscribed.json?["ocs"]?["data"]?[name]?.string ?? "" }

            // "Subscribing at the Push Proxy"
            let device = try Self.json([
                "pushToken": token.pushToken, "deviceIdentifier": field("deviceIdentifier"),
                "deviceIdentifierSignature": field("signature"), "userPublicKey": field("publicKey"),
            ])
            #expect(try await world.client.send(.post, "/devices", device, type: "application/json").status == 200)

            // "Pushed notifications": content, a silent delete, many of them, all.
            for event in [
                #""notification":{"nid":1337,"app":"spreed","subject":"Test mentioned you in a private conversation","type":"chat","#
                    + #""id":"t0k3n"}"#,
                #""delete":[1337],"app":"spreed""#, #""delete":"all""#,
            ] {
                #expect(try await world.notify(#"{"uid":"alice",\#(event)}"#) == 202)
            }
            let pushes = await outbox.accepted.wait(for: 3)
            #expect(pushes[0].alert?.titleLocalizationKey == "NEW_NOTIFICATION" && pushes[0].alert?.body == "NEW_NOTIFICATION")
            #expect(pushes.allSatisfy { $0.token.text == token.pushToken && Set($0.data.keys) == ["subject", "signature"] })
            let contents = pushes.map { OriginWorld.read(["subject": .string($0.data["subject"] ?? "")]).flatMap { JSONValue(text: $0) } }
            #expect(
                contents == [
                    [
                        "app": "spreed", "subject": "Test mentioned you in a private conversation", "type": "chat", "id": "t0k3n",
                        "nid": .number(1337),
                    ], ["delete": .bool(true), "nid": .number(1337)], ["delete-all": .bool(true)],
                ])

            // "Unsubscribing at the F7cloud server", and at the push proxy
            #expect(try await world.ocs(.delete, OriginWorld.push).status == 401)
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice password").status == 400)
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice 7").status == 202)
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice 7").status == 200)
            let removal = try Self.json([
                "deviceIdentifier": field("deviceIdentifier"), "deviceIdentifierSignature": field("signature"),
                "userPublicKey": field("publicKey"),
            ])
            #expect(try await world.client.send(.delete, "/devices", removal, type: "application/json").status == 200)
            #expect(try await world.client.send(.delete, "/devices", removal, type: "application/json").status == 403)
        }
        await store.close()
    }
}
