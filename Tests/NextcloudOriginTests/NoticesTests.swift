import Bytes
import Envelope
import Foundation
import HTTPClient
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// `POST /notify`, and the path of its content to the devices' proxies (GATEWAY_PROTOCOLS.md §4.5, §4.6).
@Suite(.safetyNet)
struct NoticesTests {
    static let hello = #"{"nid":7,"app":"spreed","subject":"Hello","type":"chat","id":"t0k3n"}"#

    @Test func `only the backend may post notices, and only in the defined form`() async throws {
        try await withOrigin { world async throws in
            #expect(try await world.notify(#"{"uid":"alice","delete":"all"}"#, token: "secre") == 401)
            #expect(try await world.notify(#"{"uid":"alice","delete":"all"}"#, token: "") == 401)
            #expect(try await world.client.send(.post, "/notify", "{}").status == 401)
            #expect(try await world.client.send(.get, "/notify").status == 405)
            #expect(try await world.notify(#"{"uid":"alice","delete":[1.5],"app":"x"}"#) == 400)
            // The origin knows no such user.
            #expect(try await world.notify(#"{"uid":"alice","delete":[1],"app":"x"}"#) == 202)
            let notice = #"{"uid":"alice","delete":"all"}"#
            #expect(try await world.notify(notice) == 202)
            let longest = notice + String(repeating: " ", count: (64 << 10) - notice.utf8.count)
            #expect(try await world.notify(longest) == 202)
            #expect(try await world.notify(longest + " ") == 413)
            #expect(try await world.store.waitingProxies().isEmpty)
        }
    }

    @Test func `a notification reaches the proxy, and the device reads it`() async throws {
        try await withOrigin { world async throws in
            let registered = try await world.register("alice_talk_ios")
            #expect(try await world.notify(7) == 202)
            let entry = try #require(await world.proxy.requests.wait(for: 1)[0].first)
            #expect(OriginWorld.read(entry) == Self.hello)
            let key = try #require(registered.json?["ocs"]?["data"]?["publicKey"]?.string.flatMap { RSAPublicKey(pem: $0) })
            let (subject, signature) = (try OriginWorld.bytes(entry["subject"]), try OriginWorld.bytes(entry["signature"]))
            #expect(key.isValidSignature(signature, of: subject))
            #expect(entry["deviceIdentifier"] == registered.json?["ocs"]?["data"]?["deviceIdentifier"])
            #expect(entry["pushTokenHash"]?.string == GatewayVectors.token("talk_ios_combined").pushTokenHash)
            #expect(entry["priority"] == "high" && entry["type"] == "alert")
        }
    }

    @Test func `the waiting pushes of a proxy are sent in one request, in order`() async throws {
        try await withOrigin { world async throws in
            _ = try await world.register("alice_talk_ios")
            world.proxy.answer.change { $0 = .unavailable }
            #expect(try await world.notify(1) == 202)
            await world.clock.sleepers { $0.contains { $0 <= .seconds(2) } }
            _ = try await world.notify(2)
            _ = try await world.notify(#"{"uid":"alice","delete":[1,2],"app":"spreed"}"#)
            world.proxy.answer.change { $0 = OriginWorld.StubProxy.taken }
            world.advance(by: .seconds(2))
            let contents = await world.proxy.requests.wait(for: 2)[1].map { OriginWorld.read($0) }
            #expect(contents.count == 3 && contents.last == #"{"nids":[1,2],"delete-multiple":true}"#)
            try await world.waitUntilNothingWaits()
        }
    }

    @Test(arguments: [nil, GatewayVectors.session("alice_talk_ios").deviceIdentifier])
    func `only a device that its proxy does not know is removed`(unknown: String?) async throws {
        try await withOrigin { world async throws in
            _ = try await world.register("alice_talk_ios")
            _ = try await world.register("alice_files_ios", changing: ["devicePublicKey": GatewayVectors.key("device_ios").public_spki_pem])
            world.proxy.answer.change { $0 = .json(200, #"{"unknown":["x"\#(unknown.map { ",\"\($0)\"" } ?? "")],"failed":1}"#) }
            #expect(try await world.notify(#"{"uid":"alice","delete":"all"}"#) == 202)
            await world.proxy.requests.wait { $0.joined().count == 2 }
            try await world.waitUntilNothingWaits()
            #expect(try await world.store.originDevices(of: "alice").count == (unknown == nil ? 2 : 1))
        }
    }

    @Test func `4xx is final, and 429 is shown for an hour`() async throws {
        try await withOrigin { world async throws in
            _ = try await world.register("alice_talk_ios")
            world.proxy.answer.change { $0 = .text(403, "Forbidden") }
            _ = try await world.notify(1)
            try await world.waitUntilNothingWaits()
            #expect(world.delivery.warning == nil)
            world.proxy.answer.change { $0 = .text(429, "Too Many Requests") }
            _ = try await world.notify(2)
            try await world.waitUntilNothingWaits()
            #expect(world.delivery.warning?.hasSuffix(": \(world.proxyURL)") == true)
            #expect(world.proxy.requests.all.count == 2)
            world.wallClock.advance(by: ProxyDelivery.warningTime)
            #expect(world.delivery.warning == nil)
        }
    }

    @Test func `a 429 that came while the clock was a year ahead is not shown once the clock is right`() async throws {
        try await withOrigin { world async throws in
            _ = try await world.register("alice_talk_ios")
            world.proxy.answer.change { $0 = .text(429, "Too Many Requests") }
            let year = Duration.seconds(365 * 86_400)
            world.wallClock.advance(by: year)
            _ = try await world.notify(1)
            try await world.waitUntilNothingWaits()
            #expect(world.delivery.warning != nil)
            world.wallClock.advance(by: .zero - year)
            #expect(world.delivery.warning == nil)
        }
    }

    @Test func `a user with many proxies that answer 429 causes one warning with three examples, and one line in the log`() async throws {
        let log = LogLines()
        try await withOrigin(logger: log.logger) { world async throws in
            world.proxy.answer.change { $0 = .text(429, "Too Many Requests") }
            for number in 1...40 {
                _ = try await world.register("alice_talk_ios", changing: ["proxyServer": "\(world.proxyURL)\(number)/"])
                _ = try await world.notify(number)
                try await world.waitUntilNothingWaits()
            }
            let warning = try #require(world.delivery.warning)
            #expect(warning.split(separator: world.proxyURL).count == 4 && warning.hasSuffix(" and 37 others"))
            #expect(log.all.count { $0.contains("push proxies reject pushes") } == 1)
        }
    }

    @Test func `a call that has waited for a minute is not sent`() async throws {
        try await withOrigin { world async throws in
            _ = try await world.register("alice_talk_ios")
            world.proxy.answer.change { $0 = .unavailable }
            _ = try await world.notify(1, type: "call")
            await world.clock.sleepers { $0.contains { $0 <= .seconds(2) } }
            _ = try await world.notify(2)
            world.proxy.answer.change { $0 = OriginWorld.StubProxy.taken }
            world.advance(by: .seconds(60))
            let requests = await world.proxy.requests.wait(for: 2)
            #expect(requests.map { $0.map { $0["type"] } } == [["voip"], ["alert"]])
            try await world.waitUntilNothingWaits()
        }
    }

    @Test func `accepted pushes wait for an unreachable proxy, also across a restart`() async throws {
        let folder = try TemporaryFolder()
        try await withOrigin(in: folder) { world async throws in
            world.proxy.answer.change { $0 = .unavailable }
            _ = try await world.register("alice_talk_ios")
            #expect(try await world.notify(7) == 202)
        }
        try await withOrigin(in: folder) { world async throws in
            // The device now has another proxy, and the waiting pushes follow.
            _ = try await world.register("alice_talk_ios")
            let sent = await world.proxy.requests.wait(for: 1).joined()
            #expect(sent.map { OriginWorld.read($0) } == [Self.hello])
            #expect(sent.first?["deviceIdentifier"]?.string == GatewayVectors.session("alice_talk_ios").deviceIdentifier)
        }
    }

    @Test func `a revoked app password removes its device and its waiting pushes`() async throws {
        try await withOrigin { world async throws in
            for session in ["alice_talk_ios", "alice_files_ios"] { _ = try await world.register(session) }
            #expect(try await world.notify(#"{"uid":"alice","revoked":[42,1]}"#) == 202)
            #expect(try await world.store.originDevices(of: "alice").map(\.tokenID) == [44])
        }
    }

    @Test func `a notification that is too long for a block is dropped, and the device stays`() async throws {
        let log = LogLines()
        try await withOrigin(logger: log.logger) { world async throws in
            _ = try await world.register("alice_talk_ios")
            func notify(idByteCount: Int) async throws -> Int {
                let id = String(repeating: "i", count: idByteCount)
                return try await world.notify(
                    #"{"uid":"alice","notification":{"nid":1,"app":"spreed","subject":"Hello","type":"chat","id":"\#(id)"}}"#)
            }
            #expect(try await notify(idByteCount: 200) == 202)
            #expect(log.all.contains { $0.hasPrefix("warning") && $0.contains("too long") })
            #expect(try await world.store.waitingProxies().isEmpty)
            #expect(try await world.store.originDevices(of: "alice").count == 1)
            #expect(try await notify(idByteCount: 100) == 202)
            #expect(await world.proxy.requests.wait(for: 1)[0].count == 1)
        }
    }

    @Test func `a full queue rejects the backend's notices with 503, and is logged once a minute`() async throws {
        let log = LogLines()
        try await withOrigin(logger: log.logger) { world async throws in
            _ = try await world.register("alice_talk_ios")
            // The pushes belong to another user, at a proxy that the delivery does not know.
            let device = OriginDevice(
                user: "bob", tokenID: 1, identifier: "bob 1", publicKey: GatewayVectors.publicKey("device_ios"), pushTokenHash: "h",
                proxy: "https://a", appType: .talk, lastSeen: nil, createdAt: TestNode.start)
            try await world.store.changeOriginDevices(of: "bob") { _ in (OriginChange(put: device), ()) }
            let push = OriginPush(
                tokenID: 1, subject: "s", signature: "x", priority: .high, kind: .alert, expiresAt: TestNode.start)
            try await world.store.acceptOriginPushes(Array(repeating: push, count: OriginPush.maximumWaitingCount), of: "bob")
            for number in 1...3 { #expect(try await world.notify(number) == 503) }
        }
        #expect(log.all.count { $0.contains("because the queue of the Nextcloud origin is full") } == 1)
        #expect(!log.all.contains { $0.contains("the Nextcloud origin cannot respond") })
    }
}

extension OriginWorld {
    /// Waits until the proxy has responded to all calls, and the store has recorded that.
    func waitUntilNothingWaits() async throws {
        // Each write of the store changes its files.
        try await FolderWatch(folder.url.path()).wait { try await store.waitingProxies().isEmpty }
    }
}
