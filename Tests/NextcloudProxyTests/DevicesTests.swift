import Bytes
import Envelope
import HTTPClient
import StatusCrypto
import Store
import Tasks
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// `POST` and `DELETE /devices` as five apps send them (GATEWAY_PROTOCOLS.md §2.1 to 2.3).
@Suite(.safetyNet)
struct DevicesTests {
    // MARK: Registering

    @Test(arguments: GatewayVectors.all.sessions.keys.sorted())
    func `the app's form registers its device`(name: String) async throws {
        try await withProxy { world async throws in
            let answer = try await world.post(name)
            #expect(answer == .init(status: 200, body: "{}", contentType: "application/json"))
            let device = try #require(world.store.devices.first)
            let session = GatewayVectors.session(name)
            #expect(device.identifier.text == session.deviceIdentifier)
            #expect(device.userKey == GatewayVectors.publicKey(session.userKey))
            #expect(device.pushTokenHash.description == GatewayVectors.token(session.token).pushTokenHash)
        }
    }

    @Test func `Talk for iOS has a second token for calls`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            let device = try #require(world.store.devices.first)
            #expect(device.token.text == GatewayVectors.token("apns_normal").pushToken)
            #expect(device.voipToken?.text == GatewayVectors.token("apns_voip").pushToken)
            #expect(device.topic == "com.example.talk" && device.voipTopic == "com.example.talk.voip")
        }
    }

    @Test func `the app for Android sends a stray field`() async throws {
        try await withProxy { world async throws in
            let answer = try await world.post("alice_files_android", "post_devices_form_official_android", userAgent: "")
            #expect(answer.status == 200)
            #expect(world.store.devices.first?.platform == .android)
            #expect(world.store.devices.first?.topic == nil)
        }
    }

    @Test(arguments: [
        ("/devices?format=json", GatewayClient.form), ("//devices", GatewayClient.form), ("/devices", ""),
        ("/devices", "application/x-www-form-urlencoded; charset=utf-8"), ("/devices", "APPLICATION/X-WWW-FORM-URLENCODED"),
    ])
    func `paths and content types are accepted in several spellings`(path: String, type: String) async throws {
        try await withProxy { world async throws in
            let body = GatewayVectors.request("alice_files_ios", "post_devices_form")
            #expect(try await world.client.send(.post, path, body, type: type).status == 200)
        }
    }

    @Test func `parameters may come in the query, as JSON, or in both if they agree`() async throws {
        let form = GatewayVectors.request("alice_files_ios", "post_devices_form")
        let fields = try #require(FormFields.read(Array(form.utf8)))
        let json = "{" + fields.map { "\"\($0.name)\":\"\($0.value.replacing("\n", with: "\\n"))\"" }.joined(separator: ",") + "}"
        try await withProxy { world async throws in
            #expect(try await world.client.send(.post, "/devices?" + form).status == 200)
            #expect(try await world.client.send(.post, "/devices", json, type: "application/json; charset=utf-8").status == 200)
            #expect(try await world.client.send(.post, "/devices?" + form, json, type: "application/json").status == 200)
            #expect(try await world.client.send(.post, "/devices?pushToken=0", form).status == 400)
            #expect(try await world.client.send(.post, "/devices", form + "&pushToken=0").status == 400)
            let token = GatewayVectors.token("apns_normal").pushToken
            #expect(try await world.client.send(.post, "/devices", form + "&pushToken=" + token).status == 200)
            #expect(try await world.client.send(.post, "/devices", json, type: "text/plain").status == 400)
            #expect(try await world.client.send(.post, "/devices", form, type: "application/json").status == 400)
        }
    }

    @Test func `a plus that was not encoded counts as a plus`() async throws {
        try await withProxy { world async throws in
            let form = GatewayVectors.request("alice_talk_ios", "post_devices_form").split(separator: "&")
                .map { $0.hasPrefix("userPublicKey") ? String($0) : String($0.replacing("%2B", with: "+")) }.joined(separator: "&")
            #expect(form.contains("+"))
            #expect(try await world.client.send(.post, "/devices", form, headers: [("User-Agent", ProxyWorld.talk)]).status == 200)
        }
    }

    /// Each check of §2.2. The later arguments show that the earlier checks have passed.
    @Test(
        arguments: [
            ("pushToken", nil), ("deviceIdentifier", nil), ("deviceIdentifierSignature", nil), ("userPublicKey", nil), ("pushToken", ""),
            ("pushToken", "%28null%29"), ("userPublicKey", "%28null%29"), ("deviceIdentifier", "AAAA"), ("deviceIdentifier", "%21"),
            ("deviceIdentifier", "%zz"), ("userPublicKey", "x"), ("deviceIdentifierSignature", "AAAA"),
            ("deviceIdentifierSignature", "%21"),
            ("pushToken", "0f74"), ("pushToken", "x%2Fy" + String(repeating: "0", count: 64)),
            ("pushToken", String(repeating: "%0A", count: 64)),
            ("pushToken", String(repeating: "0", count: 64) + "+" + String(repeating: "0", count: 62)),
            ("pushToken", String(repeating: "0", count: 64) + "++" + String(repeating: "0", count: 64)),
            ("pushToken", String(repeating: "x", count: 31)), ("pushToken", String(repeating: "x", count: 4_097)),
            ("deviceIdentifier", "%FF"),
        ] as [(String, String?)])
    func `a missing or malformed field is rejected, and nothing is stored`(field: String, value: String?) async throws {
        try await withProxy { world async throws in
            let form = GatewayVectors.request("alice_files_ios", "post_devices_form").split(separator: "&")
            let changed = form.filter { !$0.hasPrefix(field + "=") }.map(String.init) + (value.map { ["\(field)=\($0)"] } ?? [])
            // A rule fits this app with any token.
            let headers = [(name: "User-Agent", value: ProxyWorld.talk)]
            #expect(try await world.client.send(.post, "/devices", form.joined(separator: "&"), headers: headers).status == 200)
            let answer = try await world.client.send(.post, "/devices", changed.joined(separator: "&"), headers: headers)
            #expect(answer.status == 400)
            #expect(!answer.body.contains("0f74"))
            #expect(world.store.devices.count == 1)
        }
    }

    /// Each differs from a malformed one in one thing.
    @Test(arguments: [
        String(repeating: "0", count: 64), "x_y" + String(repeating: "0", count: 64),
        String(repeating: "0", count: 64) + "+" + String(repeating: "0", count: 64), String(repeating: "x", count: 32),
        String(repeating: "x", count: 4_096),
    ])
    func `a token of valid length and characters is accepted`(token: String) async throws {
        try await withProxy { world async throws in
            let form = GatewayVectors.request("alice_files_ios", "post_devices_form").split(separator: "&")
            let changed = form.filter { !$0.hasPrefix("pushToken=") }.map(String.init) + ["pushToken=\(token)"]
            let headers = [(name: "User-Agent", value: ProxyWorld.talk)]
            #expect(try await world.client.send(.post, "/devices", changed.joined(separator: "&"), headers: headers).status == 200)
        }
    }

    @Test(arguments: [
        "signature_over_base64_identifier_must_fail", "signature_over_raw_digest_hashed_again_must_fail", "sha256_signature_must_fail",
    ])
    func `signatures made in another way are rejected`(name: String) async throws {
        try await withProxy { world async throws in
            let forged = try Self.forged(name)
            #expect(try await world.client.send(.post, "/devices", forged).status == 400)
            // The app's own signature, of the same identifier under the same key.
            func isSignature(_ field: Substring) -> Bool { field.hasPrefix("deviceIdentifierSignature=") }
            let form = GatewayVectors.request("alice_talk_ios", "post_devices_form").split(separator: "&")
            let found = form.first(where: isSignature)
            let signature = try #require(found)
            let signed = forged.split(separator: "&").map { isSignature($0) ? signature : $0 }
            #expect(try await world.client.send(.post, "/devices", signed.joined(separator: "&")).status == 200)
        }
    }

    /// Returns a registration with the identifier and signature of a negative vector.
    static func forged(_ name: String) throws -> String {
        let vector = try #require(GatewayVectors.all.negatives[name])
        let (identifier, signature) = (vector["deviceIdentifier"]?.string ?? "", vector["signature"]?.string ?? "")
        let key = GatewayVectors.key(vector["userKey"]?.string ?? "").public_spki_pem
        let token = GatewayVectors.token("apns_normal").pushToken
        return [
            ("pushToken", token), ("deviceIdentifier", identifier), ("deviceIdentifierSignature", signature), ("userPublicKey", key),
        ].map { "\($0)=\(ProxyWorld.encode($1))" }.joined(separator: "&")
    }

    @Test func `a body beyond 32 KiB is too large`() async throws {
        try await withProxy { world async throws in
            let form = GatewayVectors.request("alice_files_ios", "post_devices_form") + "&x="
            let longest = form + String(repeating: "x", count: (32 << 10) - form.utf8.count)
            #expect(try await world.client.send(.post, "/devices", longest).status == 200)
            #expect(try await world.client.send(.post, "/devices", longest + "x").status == 413)
        }
    }

    @Test func `the first matching rule determines the app, and a device without a rule is rejected`() async throws {
        let apps = [
            AppRule(userAgent: "^Special/[0-9]+$", token: .any, platform: .ios, topic: "special"),
            AppRule(userAgent: "Talk", token: .apns, platform: .ios, topic: "talk"),
        ]
        try await withProxy(.init(apps: apps, registrationsPerMinute: 0)) { world async throws in
            #expect(try await world.post("alice_files_ios", userAgent: "Special/1").status == 200)
            #expect(world.store.devices.first?.topic == "special")
            #expect(try await world.post("alice_files_ios", userAgent: "Nextcloud-Talk v2").status == 200)
            #expect(world.store.devices.first?.topic == "talk")
            #expect(try await world.post("alice_files_ios", userAgent: "").status == 400)
            // A token for calls matches no rule without the calls' topic. A token of Google's matches no iOS rule.
            #expect(try await world.post("alice_talk_ios").status == 400)
            #expect(try await world.post("alice_files_android", userAgent: "Special/1").status == 400)
        }
    }

    // MARK: Registered devices

    @Test func `a device that registers again is updated`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            world.advance(by: .seconds(60))
            let other = GatewayVectors.token("apns_voip").pushToken
            let form = GatewayVectors.request("alice_talk_ios", "post_devices_form")
                .replacing(GatewayVectors.token("apns_normal").pushToken + "%20" + other, with: other.uppercased())
            #expect(try await world.client.send(.post, "/devices", form).status == 200)
            let device = try #require(world.store.devices.first)
            #expect(world.store.devices.count == 1)
            #expect(device.token.text == other && device.voipToken == nil && device.topic == "com.example.files")
            // The hash is that of the text as sent.
            #expect(device.pushTokenHash.description != GatewayVectors.token("apns_voip").pushTokenHash)
            #expect(device.createdAt == TestNode.start && device.updatedAt == TestNode.start.advanced(by: .seconds(60)))
        }
    }

    @Test func `several accounts on one phone share its token`() async throws {
        try await withProxy { world async throws in
            #expect(try await world.post("alice_files_android").status == 200)
            #expect(try await world.post("bob_subpath").status == 200)
            #expect(world.store.devices.count == 2)
        }
    }

    @Test func `another key is a conflict, and the stored key stays`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            #expect(try await world.post("alice_talk_ios_rotated_key").status == 409)
            #expect(try await world.client.send(.post, "/devices", Self.forged("self_consistent_forgery")).status == 409)
            #expect(world.store.devices.first?.userKey == GatewayVectors.publicKey("user_alice"))
            #expect(world.proof.questions.isEmpty)
        }
    }

    @Test func `one of two first registrations with different keys wins`() async throws {
        try await withProxy { world async throws in
            async let first = world.post("alice_talk_ios").status
            async let second = world.post("alice_talk_ios_rotated_key").status
            #expect(try await Set([first, second]) == [200, 409])
        }
    }

    @Test func `the account's own server proves a new key`() async throws {
        try await withProxy { world async throws in
            let url = "https://cloud.example.com/ocs/v2.php/identityproof/key/alice?format=json"
            _ = try await world.post("alice_talk_ios")
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 403)
            world.proof.show(GatewayVectors.publicKey("attacker"), at: url)
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 403)
            #expect(world.store.devices.first?.userKey == GatewayVectors.publicKey("user_alice"))
            world.proof.show(GatewayVectors.publicKey("user_alice_rotated"), at: url)
            #expect(try await world.post("alice_talk_ios_rotated_key", "post_devices_form_with_cloudId").status == 200)
            #expect(world.store.devices.first?.userKey == GatewayVectors.publicKey("user_alice_rotated"))
            #expect(world.proof.questions == [url, url, url])
        }
    }

    @Test func `an invalid cloud id is rejected without a request to any server`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            let form = GatewayVectors.request("alice_talk_ios_rotated_key", "post_devices_form") + "&cloudId=nobody"
            let answer = try await world.client.send(.post, "/devices", form, headers: [("User-Agent", ProxyWorld.talk)])
            #expect(answer.status == 403)
            #expect(world.proof.questions.isEmpty)
        }
    }

    // MARK: Unregistering

    @Test(arguments: ["delete_devices_query", "delete_devices_form"])
    func `a device is removed by query and by form, and no other with its token`(request: String) async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_files_android")
            _ = try await world.post("bob_subpath")
            let form = GatewayVectors.request("bob_subpath", request)
            let answer =
                request.hasSuffix("query")
                ? try await world.client.send(.delete, "/devices?" + form) : try await world.client.send(.delete, "/devices", form)
            #expect(answer == .init(status: 200, body: "{}", contentType: "application/json"))
            #expect(world.store.devices.map(\.identifier.text) == [GatewayVectors.session("alice_files_android").deviceIdentifier])
        }
    }

    @Test func `an unregistration without the stored key removes nothing`() async throws {
        try await withProxy { world async throws in
            #expect(try await world.client.send(.delete, "/devices?" + Self.deletion("alice_talk_ios")).status == 403)
            _ = try await world.post("alice_talk_ios")
            #expect(try await world.client.send(.delete, "/devices?" + Self.deletion("alice_talk_ios_rotated_key")).status == 403)
            let other = GatewayVectors.request("alice_files_ios", "delete_devices_query").split(separator: "&")[1]
            let mixed = Self.deletion("alice_talk_ios").split(separator: "&").enumerated().map { $0 == 1 ? other : $1 }
            #expect(try await world.client.send(.delete, "/devices?" + mixed.joined(separator: "&")).status == 403)
            #expect(try await world.client.send(.delete, "/devices?" + mixed[0]).status == 400)
            #expect(
                try await world.client.send(.delete, "/devices", "deviceIdentifierSignature=AAAA&" + mixed[0] + "&" + mixed[2]).status
                    == 400)
            #expect(world.store.devices.count == 1)
            #expect(try await world.client.send(.delete, "/devices?" + Self.deletion("alice_talk_ios")).status == 200)
            #expect(world.store.devices.isEmpty)
        }
    }

    @Test func `removing an unknown device can be configured to succeed`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, deleteUnknownStatus: 200)) { world async throws in
            #expect(try await world.client.send(.delete, "/devices?" + Self.deletion("alice_talk_ios")).status == 200)
        }
    }

    static func deletion(_ session: String) -> String { GatewayVectors.request(session, "delete_devices_query") }

    // MARK: Limits

    @Test func `registrations of an address are limited per minute`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 2)) { world async throws in
            #expect(try await world.post("alice_talk_ios").status == 200)
            #expect(try await world.client.send(.delete, "/devices").status == 400)
            let answer = try await world.post("alice_talk_ios")
            #expect(answer.status == 429)
            #expect(answer.retryAfter == "30")
            // The header of an untrusted peer changes nothing.
            let forwarded = [(name: "X-Forwarded-For", value: "192.0.2.1")]
            #expect(try await world.client.send(.post, "/devices", "", headers: forwarded).status == 429)
            world.advance(by: .seconds(30))
            #expect(try await world.post("alice_talk_ios").status == 200)
            #expect(try await world.post("alice_talk_ios").status == 429)
        }
    }

    @Test func `behind a proxy of the operator each client has its own limit`() async throws {
        let loopback = try #require(IPAddress("127.0.0.1"))
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 1), trustedProxies: [loopback]) { world async throws in
            func status(_ forwarded: String...) async throws -> Int {
                try await world.client.send(.post, "/devices", "", headers: forwarded.map { ("X-Forwarded-For", $0) }).status
            }
            #expect(try await status("192.0.2.1") == 400)
            #expect(try await status("192.0.2.1") == 429)
            #expect(try await status("192.0.2.1, 192.0.2.2") == 400)
            // The last entry is the proxy's own. Earlier entries do not matter.
            #expect(try await status("192.0.2.9, 192.0.2.2") == 429)
            #expect(try await status("192.0.2.9", "192.0.2.2") == 429)
            // A household shares its first 64 bits.
            #expect(try await status("2001:db8:1:2::1") == 400)
            #expect(try await status("2001:db8:1:2:ffff::1") == 429)
            #expect(try await status("2001:db8:1:3::1") == 400)
        }
    }

    @Test func `forwarding by an untrusted proxy is logged once`() async throws {
        let lines = LogLines()
        try await withProxy(logger: lines.logger) { world async throws in
            for _ in 0..<3 { _ = try await world.client.send(.post, "/devices", "", headers: [("X-Forwarded-For", "192.0.2.1")]) }
        }
        #expect(lines.all.count { $0.contains("X-Forwarded-For") } == 1)
    }

    @Test func `a device that the store fails to write is not accepted`() async throws {
        try await withProxy { world async throws in
            world.store.set(room: 0)
            let answer = try await world.post("alice_talk_ios")
            #expect(answer.status == 503 && answer.retryAfter != nil)
            world.store.set(room: .max)
            #expect(try await world.post("alice_talk_ios").status == 200)
        }
    }

    @Test func `a full storage rejects new devices with 503, serves known devices, and is logged once a minute`() async throws {
        let lines = LogLines()
        try await withProxy(logger: lines.logger) { world async throws in
            #expect(try await world.post("alice_talk_ios").status == 200)
            world.store.set(isStorageFull: true)
            let refusal = GatewayClient.Answer(
                status: 503, body: "Service Unavailable: the storage is full, and the server takes no new device\n",
                contentType: "text/plain; charset=utf-8", retryAfter: "3600")
            for _ in 0..<3 { #expect(try await world.post("alice_files_ios") == refusal) }
            #expect(try await world.post("alice_talk_ios").status == 200)
            #expect(try await world.notify([NotificationsTests.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":0}"#)
            func reports() -> [String] { lines.all.filter { $0.contains("because the storage is full") } }
            #expect(reports().count == 1)
            world.advance(by: LogThrottle.interval)
            #expect(try await world.post("alice_files_ios") == refusal)
            #expect(reports().count == 2 && reports().last?.contains(#""count": 3"#) == true)
            #expect(!lines.all.contains { $0.contains("cannot be stored") })
            #expect(try await world.client.send(.delete, "/devices?" + Self.deletion("alice_talk_ios")).status == 200)
            world.store.set(isStorageFull: false)
            #expect(try await world.post("alice_files_ios").status == 200)
        }
    }

    @Test func `a store that fails each request is logged once a minute`() async throws {
        let lines = LogLines()
        try await withProxy(logger: lines.logger) { world async throws in
            world.store.set(room: 0)
            for _ in 0..<3 { #expect(try await world.post("alice_talk_ios").status == 503) }
        }
        #expect(lines.all.count { $0.contains("requests of the Nextcloud proxy cannot be stored") } == 1)
    }

    @Test func `each request that gets a 400 has its reason in the log, at debug level`() async throws {
        let lines = LogLines()
        try await withProxy(logger: lines.logger) { world async throws in
            for (method, path, body) in [
                (.post, "/devices", "pushToken=a"), (.delete, "/devices", "userPublicKey=a"), (.post, "/notifications", "other=a"),
            ] as [(HTTPRequest.Method, String, String)] {
                #expect(try await world.client.send(method, path, body).status == 400)
            }
        }
        #expect(
            lines.all.filter { $0.contains("rejecting") } == [
                #"debug rejecting a registration ["fault": missingField]"#, #"debug rejecting an unregistration ["fault": missingField]"#,
                #"debug rejecting a batch of notifications ["fault": noNotifications]"#,
            ])
    }

    @Test func `other methods and paths are rejected`() async throws {
        try await withProxy { world async throws in
            #expect(try await world.client.send(.get, "/devices").status == 405)
            #expect(try await world.client.send(.put, "/notifications").status == 405)
            #expect(try await world.client.send(.get, "/").status == 404)
        }
    }
}
