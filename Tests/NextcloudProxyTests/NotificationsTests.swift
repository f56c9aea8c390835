import Bytes
import Envelope
import Foundation
import HTTPClient
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// `POST /notifications` as Nextcloud's servers send it (GATEWAY_PROTOCOLS.md §2.4).
@Suite(.safetyNet)
struct NotificationsTests {
    static let batch = GatewayVectors.all.batch

    static func entry(_ name: String) -> String { GatewayVectors.notification(name).entry_json_string }
    static func negative(_ name: String) -> String { GatewayVectors.all.negatives[name]?.string ?? "" }
    static func identifier(_ session: String) -> String { GatewayVectors.session(session).deviceIdentifier }

    static func unknown(_ sessions: String..., failed: Int) -> String {
        #"{"unknown":[\#(sessions.map { "\"\(identifier($0))\"" }.joined(separator: ","))],"failed":\#(failed)}"#
    }

    // MARK: Complete batches

    @Test func `the reference's batch is accepted in one transaction`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let answer = try await world.client.send(.post, "/notifications", Self.batch.body)
            #expect(answer == .init(status: 200, body: #"{"unknown":[],"failed":0}"#, contentType: "application/json"))
            #expect(world.store.accepted.count == 4)
            #expect(world.store.acceptedBatches.value == 1)
            let owners = Self.batch.entries.map { GatewayVectors.notification($0).entry.deviceIdentifier }
            #expect(world.store.owners.map { DeviceIdentifier(Digest64($0) ?? .init()).text } == owners)
        }
    }

    @Test func `unregistered devices are unknown, each listed once`() async throws {
        try await withProxy { world async throws in
            let answer = try await world.client.send(.post, "/notifications", Self.batch.body)
            #expect(answer.status == 200)
            #expect(answer.body == Self.unknown("alice_talk_ios", "alice_files_android", failed: 4))
            #expect(world.store.acceptedBatches.value == 0)
        }
    }

    @Test func `entries are ordered by their numbers, and entries without a number follow`() throws {
        let body =
            "x=1&notifications%5B7%5D=c&notifications[2]=b&notifications%5B%5D=d&notifications[0]=a&notifications[x]=&notifications[]=e"
        #expect(try BatchBody.read(Array(body.utf8)) == ["a", "b", "c", "d", "e"])
    }

    @Test(arguments: ["", "x=1", "notifications=1", "notifications%5B0=1", "notifications%5B0%5D=%zz", "notifications%5B0%5D=%FF"])
    func `a body without notifications is rejected`(body: String) async throws {
        try await withProxy { world async throws in
            #expect(try await world.client.send(.post, "/notifications", body).status == 400)
            #expect(try await world.client.send(.post, "/notifications", "notifications%5B0%5D=1").status == 200)
        }
    }

    @Test func `a batch has at most 10,000 entries`() async throws {
        try await withProxy { world async throws in
            let entry = "&notifications[]={"
            let most = try await world.client.send(.post, "/notifications", String(repeating: entry, count: 10_000))
            #expect(most.status == 200)
            #expect(most.body == #"{"unknown":[],"failed":10000}"#)
            #expect(try await world.client.send(.post, "/notifications", String(repeating: entry, count: 10_001)).status == 413)
        }
    }

    @Test func `a batch has at most 16 MiB`() async throws {
        try await withProxy { world async throws in
            let body = "notifications[]=" + String(repeating: "x", count: 16 << 20)
            #expect(try await world.client.send(.post, "/notifications", body).status == 413)
            #expect(try await world.client.send(.post, "/notifications", String(body.prefix(16 << 20))).status == 200)
        }
    }

    // MARK: Single entries

    @Test(arguments: [
        ("not_json_entry", #"{"unknown":[],"failed":1}"#), ("tampered_subject_entry", #"{"unknown":[],"failed":1}"#),
        ("double_hashed_subject_signature_entry", #"{"unknown":[],"failed":1}"#),
        ("other_user_signature_entry", #"{"unknown":[],"failed":1}"#),
        ("wrong_push_token_hash_entry", Self.unknown("alice_talk_ios", failed: 1)),
        (
            "unknown_device_entry",
            #"{"unknown":["OipeEYwRR42XH4llVKxPwBLFv7w/F/j9IJQvgaLdBkqZL2zS9IVpkbt3aEyY9E7dKRuhfTyy+kOViBQuNodBgQ=="],"failed":1}"#
        ),
    ])
    func `a failing entry does not affect the others`(name: String, expected: String) async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let answer = try await world.notify([Self.negative(name), Self.entry("talk_chat_oaep")])
            #expect(answer.body == expected)
            #expect(world.store.accepted.count == 1)
            // A wrong token does not remove the device either.
            #expect(world.store.devices.count == 3)
        }
    }

    @Test(arguments: ["deviceIdentifier", "pushTokenHash", "subject", "signature"])
    func `an entry with a missing or non-string field is a failure, and never unknown`(field: String) async throws {
        try await withProxy { world async throws in
            let entry = Self.entry("talk_chat_oaep")
            let missing = entry.replacing("\"\(field)\":", with: "\"x\":")
            let number = entry.replacing(try Regex("\"\(field)\":\"[^\"]*\""), with: "\"\(field)\":7")
            let answer = try await world.notify([
                missing, number, "[]", "7", "null", "\"x\"", entry + "x", String(repeating: "[", count: 5_000),
            ])
            #expect(answer.body == #"{"unknown":[],"failed":8}"#)
            // The whole entry is unknown.
            #expect(try await world.notify([entry]).body == Self.unknown("alice_talk_ios", failed: 1))
        }
    }

    @Test(arguments: [
        ("subject", "AAAA"), ("subject", "!"), ("subject", String(repeating: "A", count: 1_368)), ("signature", "AAAA"), ("signature", "!"),
    ])
    func `a subject and a signature each have the length of an RSA block`(field: String, value: String) async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let entry = Self.entry("talk_chat_oaep").replacing(try Regex("\"\(field)\":\"[^\"]*\""), with: "\"\(field)\":\"\(value)\"")
            #expect(try await world.notify([entry]).body == #"{"unknown":[],"failed":1}"#)
        }
    }

    /// The signature is valid in each case, so that only the length of the subject can be at fault.
    @Test(arguments: [(100, false), (255, false), (256, true), (1_024, true), (1_025, false)])
    func `a signed subject has the length of an RSA block`(byteCount: Int, isAccepted: Bool) throws {
        let key = try #require(RSAPrivateKey(pem: GatewayVectors.key("user_alice").private_pkcs8_pem))
        let subject = [UInt8](repeating: 7, count: byteCount)
        var entry = try #require(BatchEntry(Self.entry("talk_chat_oaep")))
        entry.subject = Data(subject).base64EncodedString()
        entry.signature = Data(key.signature(of: subject)).base64EncodedString()
        #expect(key.publicKey.isValidSignature(key.signature(of: subject), of: subject))
        #expect((entry.digest(signedBy: key.publicKey) != nil) == isAccepted)
    }

    // MARK: Notifications for phones

    @Test func `fields that older servers omit have their defaults`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let odd = Self.entry("talk_call_oaep").replacing(#""type":"voip""#, with: #""type":"odd","more":{"a":[1]}"#)
                .replacing(#""priority":"high""#, with: #""priority":7"#)
            #expect(
                try await world.notify([Self.negative("legacy_entry_without_priority_and_type"), odd]).body == #"{"unknown":[],"failed":0}"#
            )
            #expect(world.store.accepted.map(\.kind) == [.alert, .alert])
            #expect(world.store.accepted.map(\.priority) == [.normal, .normal])
        }
    }

    @Test func `an iPhone shows an alert, rings with its token for calls, and wakes up silently`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            _ = try await world.notify(["talk_chat_oaep", "talk_call_oaep", "delete_all_oaep", "files_share_ios_oaep"].map(Self.entry))
            let (chat, call, silent, file) = (
                world.store.accepted[0], world.store.accepted[1], world.store.accepted[2], world.store.accepted[3]
            )
            let text = "NEW_NOTIFICATION"
            #expect(chat.kind == .alert && chat.priority == .high && chat.isMutable && chat.sound == "default" && !chat.isContentAvailable)
            #expect(chat.alert == .init(title: text, body: text, titleLocalizationKey: text, bodyLocalizationKey: text))
            #expect(chat.token.text == GatewayVectors.token("apns_normal").pushToken && chat.topic == "com.example.talk")
            #expect(call.kind == .voip && call.priority == .high && call.alert == nil && call.sound == nil && !call.isMutable)
            #expect(call.token.text == GatewayVectors.token("apns_voip").pushToken && call.topic == "com.example.talk.voip")
            #expect(silent.kind == .background && silent.priority == .normal && silent.isContentAvailable && silent.alert == nil)
            #expect(silent.token.text == GatewayVectors.token("apns_normal").pushToken)
            #expect(file.topic == "com.example.files" && file.priority == .normal)
            #expect(chat.data.keys.sorted() == ["signature", "subject"])
            #expect(GatewayVectors.all.gorush_expected["talk_chat_oaep"]?["data"]?["subject"]?.string == chat.data["subject"])
        }
    }

    @Test func `a call without a token for calls is an urgent alert`() async throws {
        let device = ProxyDevice(
            identifier: DeviceIdentifier(Digest64()), userKey: GatewayVectors.publicKey("user_alice"), pushTokenHash: Digest64(),
            platform: .ios, token: "t", topic: "a", createdAt: TestNode.start, updatedAt: TestNode.start)
        var entry = try #require(BatchEntry(Self.entry("talk_call_oaep")))
        entry.priority = .normal
        let notification = entry.notification(for: device)
        #expect(notification.kind == .alert && notification.priority == .high && notification.isMutable && notification.topic == "a")
    }

    @Test(arguments: [("files_share_android_pkcs1", GatewayNotification.Priority.normal), ("twofactor_android_oaep", .high)])
    func `an Android phone gets data only`(name: String, priority: GatewayNotification.Priority) async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            _ = try await world.notify([Self.entry(name)])
            let notification = try #require(world.store.accepted.first)
            #expect(
                notification.platform == .android && notification.alert == nil && notification.sound == nil && notification.topic == nil)
            #expect(notification.priority == priority)
            #expect(notification.token.text == GatewayVectors.token("fcm").pushToken)
        }
    }

    // MARK: Unknown devices

    @Test func `a push that overtakes the registration counts as failed, not as unknown, for a minute`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 0)) { world async throws in
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
            world.advance(by: .seconds(59))
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
            world.advance(by: .seconds(1))
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == Self.unknown("alice_talk_ios", failed: 1))
            // A registration ends the grace.
            _ = try await world.post("alice_talk_ios")
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":0}"#)
        }
    }

    @Test func `a wall clock that jumps ahead does not end the grace`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 0)) { world async throws in
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
            world.wallClock.advance(by: .seconds(1_800))
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
        }
    }

    @Test func `a wrong token hash does not reveal at once whether the device is registered`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 0)) { world async throws in
            _ = try await world.post("alice_talk_ios")
            let entry = Self.negative("wrong_push_token_hash_entry")
            // The second entry is the same for an unregistered identifier.
            let other = entry.replacing(Self.identifier("alice_talk_ios").replacing("/", with: "\\/"), with: Self.identifier("bob_subpath"))
            #expect(try await world.notify([entry]).body == #"{"unknown":[],"failed":1}"#)
            #expect(try await world.notify([other]).body == #"{"unknown":[],"failed":1}"#)
            world.advance(by: .seconds(60))
            #expect(try await world.notify([entry]).body == Self.unknown("alice_talk_ios", failed: 1))
            #expect(try await world.notify([other]).body == Self.unknown("bob_subpath", failed: 1))
        }
    }

    @Test func `an invented token hash does not use up the grace of a device`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 0)) { world async throws in
            #expect(try await world.notify([Self.negative("wrong_push_token_hash_entry")]).body == #"{"unknown":[],"failed":1}"#)
            world.advance(by: .seconds(60))
            // The first notification of the device's own server overtakes the registration.
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
            world.advance(by: .seconds(60))
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == Self.unknown("alice_talk_ios", failed: 1))
        }
    }

    @Test func `a removed device is unknown at once, for a day`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, registrationsPerMinute: 0)) { world async throws in
            _ = try await world.post("alice_talk_ios")
            #expect(try await world.client.send(.delete, "/devices?" + DevicesTests.deletion("alice_talk_ios")).status == 200)
            world.advance(by: ProxyDevice.removalMemory)
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == Self.unknown("alice_talk_ios", failed: 1))
            world.advance(by: .seconds(1))
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":1}"#)
        }
    }

    @Test func `first misses are bounded, and the newest are kept`() {
        var misses = UnknownDeviceGrace(grace: .seconds(60))
        func identifier(_ number: Int) -> UnknownDeviceGrace.UnknownDevice {
            .init(
                DeviceIdentifier(Digest64(hex: String(repeating: "0", count: 128 - "\(number)".count) + "\(number)") ?? .init()),
                tokenHash: "")
        }
        for number in 0...UnknownDeviceGrace.maximumCount {
            let isKnown = misses.miss(identifier(number), at: .milliseconds(number))
            #expect(!isKnown)
        }
        let later = Duration.seconds(3_600)
        let (newest, oldest) = (misses.miss(identifier(UnknownDeviceGrace.maximumCount), at: later), misses.miss(identifier(0), at: later))
        #expect(newest && !oldest)
    }

    // MARK: Repeats and limits

    @Test func `another spelling of the same signature is a repetition`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let entry = Self.entry("talk_chat_oaep")
            // The last character before the padding has four spare bits.
            let spellings = [entry, entry.replacing("+", with: " ")] + ["B", "P"].map { entry.replacing("A==\"", with: "\($0)==\"") }
            #expect(Set(spellings).count == 4)
            for spelling in spellings { #expect(try await world.notify([spelling]).body == #"{"unknown":[],"failed":0}"#) }
            #expect(world.store.accepted.count == 1)
        }
    }

    @Test func `a repeated notification causes no second push for five minutes`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let entry = Self.entry("talk_chat_oaep")
            #expect(try await world.notify([entry, entry]).body == #"{"unknown":[],"failed":0}"#)
            #expect(world.store.accepted.count == 1)
            world.advance(by: NextcloudProxy.repeatInterval)
            #expect(try await world.notify([entry]).body == #"{"unknown":[],"failed":0}"#)
            #expect(world.store.accepted.count == 1)
            world.advance(by: .seconds(1))
            _ = try await world.notify([entry])
            #expect(world.store.accepted.count == 2)
        }
    }

    @Test func `a notification that the store fails to write is not accepted`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            world.store.set(room: 0)
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).status == 503)
            #expect(world.store.acceptedBatches.value == 0)
            world.store.set(room: .max)
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":0}"#)
            #expect(world.store.acceptedBatches.value == 1)
        }
    }

    @Test func `a full push queue rejects a batch with 503, and is logged once a minute`() async throws {
        let lines = LogLines()
        try await withProxy(logger: lines.logger) { world async throws in
            try await world.registerAlice()
            world.store.set(isQueueFull: true)
            for _ in 0..<3 {
                let answer = try await world.notify([Self.entry("talk_chat_oaep")])
                #expect(answer.status == 503 && answer.body == "Service Unavailable: the push queue is full\n")
                #expect(answer.retryAfter == "60")
            }
            world.store.set(isQueueFull: false)
            #expect(try await world.notify([Self.entry("talk_chat_oaep")]).body == #"{"unknown":[],"failed":0}"#)
        }
        #expect(lines.all.count { $0.contains("because the push queue is full") } == 1)
        #expect(!lines.all.contains { $0.contains("cannot be stored") })
    }

    @Test func `a partly written long batch is complete after it is sent again`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            let entries = [Self.entry("talk_chat_oaep")] + Array(repeating: "{", count: 1_500) + [Self.entry("talk_call_oaep")]
            world.store.set(room: 1)
            #expect(try await world.notify(entries).status == 503)
            #expect(world.store.accepted.map(\.kind) == [.alert])
            world.store.set(room: .max)
            #expect(try await world.notify(entries).body == #"{"unknown":[],"failed":1500}"#)
            #expect(world.store.accepted.map(\.kind) == [.alert, .voip])
        }
    }

    @Test func `a long batch is written and reported in the order of its entries`() async throws {
        try await withProxy { world async throws in
            _ = try await world.post("alice_talk_ios")
            let entries = ["files_share_ios_oaep", "talk_call_oaep", "", "twofactor_android_oaep", "talk_chat_oaep"].flatMap { name in
                name.isEmpty ? Array(repeating: "{", count: 100) : [Self.entry(name)]
            }
            // The lookup of the first part finishes last.
            let first = try #require(DeviceIdentifier(Self.identifier("alice_files_ios")))
            world.store.finds.change { $0 = { !$0.contains(first) } }
            async let answer = world.notify(entries)
            await world.store.lookups.wait { $0.answered == 1 && $0.count == 1 }
            world.store.finds.change { $0 = { _ in true } }
            #expect(try await answer.body == Self.unknown("alice_files_ios", "alice_files_android", failed: 102))
            #expect(world.store.accepted.map(\.kind) == [.voip, .alert])
        }
    }

    @Test func `pushes that accumulate during a slow write are written in several batches`() async throws {
        try await withProxy { world async throws in
            try await world.registerAlice()
            world.store.takes.change { $0 = false }
            async let answer = world.notify(Array(repeating: Self.entry("talk_chat_oaep"), count: 2_560))
            await world.store.lookups.wait { $0.answered == 40 }
            world.store.takes.change { $0 = true }
            #expect(try await answer.body == #"{"unknown":[],"failed":0}"#)
            #expect(world.store.longestWrite.value == 1_024)
        }
    }

    @Test func `the parts in progress are bounded over all long batches`() async throws {
        try await withProxy(.init(apps: ProxyWorld.apps, workerCount: 2)) { world async throws in
            world.store.finds.change { $0 = { _ in false } }
            let batch = Array(repeating: "{", count: 1_000)
            async let answers = withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...5 { group.addTask { try await world.notify(batch).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            await world.store.lookups.wait { $0.count == 4 }
            world.store.finds.change { $0 = { _ in true } }
            #expect(try await answers == Array(repeating: 200, count: 5))
            #expect(world.store.lookups.value.highest == 4)
        }
    }

    @Test func `only servers with a configured key may push, if keys are configured`() async throws {
        let key = "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"
        try await withProxy(.init(apps: ProxyWorld.apps, subscriptionKeys: ["x", key])) { world async throws in
            func status(_ keys: String...) async throws -> Int {
                let headers = keys.map { (name: "X-Nextcloud-Subscription-Key", value: $0) }
                return try await world.client.send(.post, "/notifications", Self.batch.body, headers: headers).status
            }
            #expect(try await status() == 401)
            #expect(try await status("AAAAA-BBBBB-CCCCC-DDDDD-EEEEF") == 401)
            #expect(try await status(key) == 200)
        }
    }

    @Test func `an address may push to 1,000 unknown devices, refilled within an hour`() async throws {
        try await withProxy { world async throws in
            let entry = Self.negative("unknown_device_entry")
            #expect(try await world.notify(Array(repeating: entry, count: 1_001)).status == 200)
            let answer = try await world.notify([entry])
            #expect(answer.status == 429)
            #expect(answer.retryAfter == "4")
            world.advance(by: .seconds(4))
            #expect(try await world.notify([entry]).status == 200)
        }
    }

    @Test func `an address may send 600 batches a minute`() {
        var limiter = RateLimiter(600, every: .seconds(60))
        let client = IPv4.loopback
        let waits = (0...600).map { _ in limiter.take(for: client, at: .zero) }
        #expect(waits == Array(repeating: nil, count: 600) + [.seconds(1)])
        let later = limiter.take(for: client, at: .milliseconds(100))
        #expect(later == nil)
    }
}
