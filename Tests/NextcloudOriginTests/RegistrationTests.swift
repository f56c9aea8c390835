import Bytes
import HTTPClient
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// Requests of apps to an origin: capabilities, `…/push`, and an account's key (GATEWAY_PROTOCOLS.md §4, §4.1 to 4.4).
@Suite(.safetyNet)
struct RegistrationTests {
    /// Gives Alice the vectors' key.
    private func giveKey(_ world: OriginWorld, to user: String = "alice", _ key: String = "user_alice") async throws {
        let der = GatewayVectors.privateKey(key).der
        let sealed = AESGCM.sealCombined(der.span, key: OriginWorld.sealingKey, nonce: FixedBytes(repeating: 1))
        _ = try await world.store.addOriginUserKey(sealed, of: user)
    }

    // MARK: OCS

    @Test func `the capabilities are offered in XML and in JSON`() async throws {
        try await withOrigin { world async throws in
            let xml = try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities", headers: [])
            #expect(xml.contentType == "application/xml; charset=utf-8")
            #expect(
                xml.body == """
                    <?xml version="1.0"?>
                    <ocs>
                     <meta>
                      <status>ok</status>
                      <statuscode>200</statuscode>
                      <message>OK</message>
                     </meta>
                     <data>
                      <capabilities>
                       <notifications>
                        <ocs-endpoints/>
                        <push>
                         <element>devices</element>
                         <element>object-data</element>
                         <element>delete</element>
                        </push>
                       </notifications>
                      </capabilities>
                     </data>
                    </ocs>

                    """)
            let json =
                #"{"ocs":{"meta":{"status":"ok","statuscode":200,"message":"OK"},"data":{"capabilities":{"notifications":"#
                + #"{"ocs-endpoints":[],"push":["devices","object-data","delete"]}}}}}"#
            let accepted = try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities")
            #expect(accepted == .init(status: 200, body: json, contentType: "application/json; charset=utf-8"))
            #expect(try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities?format=json", headers: []).body == json)
            #expect(try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities?format=xml").body == xml.body)
        }
        try await withOrigin(pushServer: "https://push.example.com") { world async throws in
            let answer = try await world.ocs(.get, "/ocs/v2.php/cloud/capabilities")
            #expect(answer.body.contains(#""ocs-endpoints":["push"]"#))
        }
    }

    @Test func `a request needs the header of the OCS API or a bearer token`() async throws {
        try await withOrigin { world async throws in
            func send(_ headers: (name: String, value: String)...) async throws -> GatewayClient.Answer {
                try await world.client.send(.get, "/ocs/v2.php/cloud/capabilities?format=json", headers: headers)
            }
            #expect(try await send().status == 412)
            #expect(try await send(("OCS-APIRequest", "1")).status == 412)
            #expect(try await send(("OCS-APIRequest", "true")).status == 200)
            #expect(try await send(("Authorization", "Bearer x")).status == 200)
            let unknown = try await world.ocs(.get, "/ocs/v2.php/x")
            #expect(unknown.status == 404 && unknown.body.contains(#""statuscode":404"#))
        }
    }

    @Test func `text is escaped in XML`() {
        let answer = OCSResponse(404, .texts(["a<b>&\u{1}"])).answer(asJSON: false)
        #expect(answer.body.contains("<element>a&lt;b&gt;&amp;</element>") && answer.body.contains("<status>failure</status>"))
        #expect(OCSResponse(200).answer(asJSON: false).body.contains("<data/>"))
        #expect(OCSResponse(200).answer(asJSON: true).body.hasSuffix(#""data":[]}}"#))
    }

    // MARK: Registering

    @Test(arguments: ["alice_talk_ios", "alice_files_android", "alice_files_ios"])
    func `a device gets the reference's response`(name: String) async throws {
        try await withOrigin { world async throws in
            try await giveKey(world)
            let answer = try await world.register(name)
            #expect(answer.status == 201 && answer.body == GatewayVectors.request(name, "ocs_response_201"))
            let session = GatewayVectors.session(name)
            let stored = try await world.store.originDevices(of: "alice")
            #expect(stored.count == 1 && stored.first?.identifier == session.deviceIdentifier)
            #expect(stored.first?.proxy == world.proxyURL && stored.first?.appType.rawValue == session.apptype)
        }
    }

    @Test func `parameters may come as a form, or in the query`() async throws {
        try await withOrigin { world async throws in
            let key = FormFields.encode(GatewayVectors.key("device_ios").public_spki_pem)
            let form = "pushTokenHash=\(GatewayVectors.token("fcm").pushTokenHash)&devicePublicKey=\(key)&proxyServer=\(world.proxyURL)/"
            #expect(try await world.ocs(.post, OriginWorld.push, form, type: GatewayClient.form, as: "alice 1").status == 201)
            #expect(try await world.ocs(.post, OriginWorld.push + "?format=json&" + form, as: "alice 1").status == 200)
        }
    }

    @Test(
        arguments: [
            ("pushTokenHash", nil, "INVALID_PUSHTOKEN_HASH"), ("pushTokenHash", "x", "INVALID_PUSHTOKEN_HASH"),
            ("pushTokenHash", String(repeating: "A", count: 128), "INVALID_PUSHTOKEN_HASH"),
            ("pushTokenHash", String(repeating: "a", count: 128) + "\n", "INVALID_PUSHTOKEN_HASH"),
            ("devicePublicKey", nil, "INVALID_DEVICE_KEY"), ("devicePublicKey", "x", "INVALID_DEVICE_KEY"),
            ("devicePublicKey", TestKeys.rsa1024, "INVALID_DEVICE_KEY"), ("devicePublicKey", TestKeys.rsa4096, "INVALID_DEVICE_KEY"),
            ("devicePublicKey", TestKeys.ellipticCurve, "INVALID_DEVICE_KEY"),
            ("devicePublicKey", GatewayVectors.key("device_ios").public_spki_pem + "\n", "INVALID_DEVICE_KEY"),
            ("devicePublicKey", GatewayVectors.key("device_ios").public_spki_pem.replacing("\n", with: "\r\n"), "INVALID_DEVICE_KEY"),
            ("proxyServer", nil, "INVALID_PROXY_SERVER"), ("proxyServer", "http://push.example.com/", "INVALID_PROXY_SERVER"),
        ] as [(String, String?, String)])
    func `an invalid value is rejected with the reference's word, unstored`(name: String, value: String?, word: String) async throws {
        try await withOrigin { world async throws in
            // The later faults are also present, which shows the order of the checks.
            let body = try world.registration("alice_talk_ios", changing: [name: value])
            let answer = try await world.ocs(.post, OriginWorld.push, body, as: "alice password")
            #expect(answer.status == 400)
            #expect(answer.body.hasSuffix(#""data":{"message":"\#(word)"}}}"#), "\(answer)")
            #expect(try await world.store.originDevices(of: "alice").isEmpty)
            #expect(try await world.ocs(.post, OriginWorld.push, body).status == 401)
        }
    }

    @Test func `the checks have the reference's order`() async throws {
        try await withOrigin(allowsLocalProxies: false) { world async throws in
            func word(_ changes: [String: String?], as user: String = "alice password") async throws -> String {
                let body = try world.registration("alice_talk_ios", changing: changes)
                return try await world.ocs(.post, OriginWorld.push, body, as: user).body
            }
            #expect(try await word(["pushTokenHash": nil, "devicePublicKey": nil], as: "nobody").contains(#""statuscode":997"#))
            #expect(try await word(["pushTokenHash": nil, "devicePublicKey": nil]).contains("INVALID_PUSHTOKEN_HASH"))
            #expect(try await word(["devicePublicKey": nil, "proxyServer": nil]).contains("INVALID_DEVICE_KEY"))
            // The proxy of this world is local.
            #expect(try await word([:]).contains("INVALID_PROXY_SERVER"))
            #expect(try await word(["proxyServer": "https://push.example.com"]).contains("INVALID_SESSION_TOKEN"))
            #expect(try await word(["proxyServer": "https://push.example.com"], as: "alice 1").contains("deviceIdentifier"))
        }
    }

    @Test func `an unreadable body counts as a missing hash`() async throws {
        try await withOrigin { world async throws in
            let body = try world.registration("alice_talk_ios")
            let unreadable = [(String(body.dropLast()), "application/json"), ("", "application/json"), (body, "text/plain")]
            for (body, type) in unreadable {
                let answer = try await world.ocs(.post, OriginWorld.push, body, type: type, as: "alice 1")
                #expect(answer.status == 400 && answer.body.contains("INVALID_PUSHTOKEN_HASH"))
            }
            let longest = body + String(repeating: " ", count: (32 << 10) - body.utf8.count)
            #expect(try await world.ocs(.post, OriginWorld.push, longest, as: "alice 1").status == 201)
            #expect(try await world.ocs(.post, OriginWorld.push, longest + " ", as: "alice 1").status == 413)
        }
    }

    @Test func `the status distinguishes created, unchanged, changed, removed and unknown`() async throws {
        try await withOrigin { world async throws in
            #expect(try await world.register("alice_talk_ios").status == 201)
            #expect(try await world.register("alice_talk_ios").status == 200)
            let other = GatewayVectors.token("fcm").pushTokenHash
            #expect(try await world.register("alice_talk_ios", changing: ["pushTokenHash": other]).status == 201)
            #expect(try await world.ocs(.delete, OriginWorld.push).status == 401)
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice password").body.contains("INVALID_SESSION_TOKEN"))
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice 43").status == 200)
            #expect(try await world.store.originDevices(of: "alice").count == 1)
            let removed = try await world.ocs(.delete, OriginWorld.push, as: "alice 42")
            #expect(removed.status == 202 && removed.body.contains(#""statuscode":202"#) && removed.body.hasSuffix(#""data":[]}}"#))
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice 42").status == 200)
            #expect(try await world.store.originDevices(of: "alice").isEmpty)
        }
    }

    @Test func `the same token under a new app password is the same phone, of one user only`() async throws {
        try await withOrigin { world async throws in
            let body = try world.registration("alice_talk_ios")
            for user in ["alice 1", "bob 1", "alice 2"] {
                #expect(try await world.ocs(.post, OriginWorld.push, body, as: user).status == 201)
            }
            #expect(try await world.store.originDevices(of: "alice").map(\.tokenID) == [2])
            #expect(try await world.store.originDevices(of: "bob").map(\.tokenID) == [1])
        }
    }

    // MARK: The older draft

    @Test func `v3 exists only with a push proxy of the operator`() async throws {
        try await withOrigin { world async throws in
            #expect(try await world.ocs(.post, OriginWorld.oldPush, as: "alice 1").status == 404)
            #expect(try await world.ocs(.delete, OriginWorld.oldPush, as: "alice 1").status == 404)
        }
    }

    @Test func `v3 accepts the key without its last line break, and requires it to remove the device`() async throws {
        try await withOrigin(pushServer: "https://push.example.com/") { world async throws in
            func send(_ method: HTTPRequest.Method, key: String, user: String? = "alice 42") async throws -> (Int, String) {
                let body = try world.registration("alice_talk_ios", changing: ["devicePublicKey": key, "proxyServer": nil])
                let answer = try await world.ocs(method, OriginWorld.oldPush, body, as: user)
                return (answer.status, answer.body)
            }
            let pem = GatewayVectors.key("device_ios").public_spki_pem
            let (key, other) = (String(pem.dropLast()), String(GatewayVectors.key("device_android").public_spki_pem.dropLast()))
            #expect(try await send(.post, key: pem).1.contains("INVALID_DEVICE_KEY"))
            #expect(try await send(.post, key: key).0 == 201)
            #expect(try await send(.post, key: key).0 == 200)
            #expect(try await send(.post, key: other).1.contains("INVALID_DEVICE_KEY"))
            #expect(try await world.store.originDevices(of: "alice").first?.proxy == "https://push.example.com")
            #expect(try await send(.delete, key: key, user: nil).0 == 401)
            #expect(try await send(.delete, key: pem).1.contains("INVALID_DEVICE_KEY"))
            #expect(try await send(.delete, key: key, user: "alice password").1.contains("INVALID_SESSION_TOKEN"))
            #expect(try await send(.delete, key: other) == (400, send(.delete, key: pem).1))
            #expect(try await send(.delete, key: key).0 == 202)
            #expect(try await send(.delete, key: key).0 == 400)
        }
    }

    // MARK: Keys and backend

    @Test func `an account's key is public once it exists`() async throws {
        try await withOrigin { world async throws in
            let path = "/ocs/v2.php/identityproof/key/zo%C3%AB%20m?format=json"
            let vectors = GatewayVectors.all.identity_proof
            let unknown = try await world.ocs(.get, path)
            #expect(unknown.status == 404 && unknown.json == vectors["response_404"])
            try await giveKey(world, to: "zoë m", "user_alice_rotated")
            let known = try await world.ocs(.get, path)
            #expect(known.status == 200 && known.json == vectors["response_200"])
        }
    }

    @Test func `a user's key never changes, and no file reveals it`() async throws {
        let folder = try TemporaryFolder()
        var answers: Set<String> = []
        for _ in 1...2 {
            try await withOrigin(in: folder) { world async throws in
                answers.insert(try await world.register("alice_talk_ios").json?["ocs"]?["data"]?["publicKey"]?.string ?? "")
                let stored = try await world.store.originUserKey(of: "alice")
                let sealed = try #require(stored)
                #expect(RSAPrivateKey(der: sealed) == nil)
                let opened = try AESGCM.openCombined(sealed.span, key: OriginWorld.sealingKey)
                #expect(RSAPrivateKey(der: opened)?.publicKey.pem == answers.first)
            }
        }
        #expect(answers.count == 1)
        // The origin does not replace the key under another server's key, because all proxies would then reject the devices.
        try await withOrigin(sealingKey: SymmetricKey(FixedBytes(repeating: 8)), in: folder) { world async throws in
            #expect(try await world.register("alice_talk_ios").status == 503)
        }
    }

    @Test func `devices that register at once share the key`() async throws {
        try await withOrigin { world async throws in
            let body = try world.registration("alice_talk_ios")
            let keys = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 1...4 {
                    group.addTask {
                        try await world.ocs(.post, OriginWorld.push, body, as: "alice \(number)").json?["ocs"]?["data"]?["publicKey"]?
                            .string
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(keys.count == 1 && keys.first != .some(nil))
        }
    }

    @Test func `a silent backend is an error, and requests to the backend are limited`() async throws {
        try await withOrigin { world async throws in
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "broken").status == 502)
            for _ in 1..<NextcloudOrigin.sessionsPerMinute {
                #expect(try await world.ocs(.delete, OriginWorld.push, as: "nobody").status == 401)
            }
            let limited = try await world.ocs(.delete, OriginWorld.push, as: "alice 1")
            #expect(limited.status == 429 && limited.retryAfter == "1")
            world.advance(by: .seconds(1))
            #expect(try await world.ocs(.delete, OriginWorld.push, as: "alice 1").status == 200)
        }
    }
}
