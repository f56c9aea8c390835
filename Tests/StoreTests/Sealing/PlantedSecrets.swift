import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Secrets of each kind in a database, and the expectation that a store returns them.
struct PlantedSecrets {
    private static let count = 300
    /// The number of devices that register again with other tokens.
    private static let renewedCount = 100
    private static let later = start.advanced(by: .seconds(10))

    private func secret(_ kind: String, _ number: Int, version: UInt64 = 1) -> String { "secret-\(kind)-\(number)-of-version-\(version)." }

    private func registration(_ number: Int, version: UInt64 = 1) -> Registration {
        var registration = StoreTests.registration(installation(number, key: number), version: version)
        // The beginnings of tokens differ, like those of real ones: the index on tokens in clear contains them.
        registration.content.deviceToken = "\(number * 7_919 % 1_000)-\(secret("device", number, version: version))"
        registration.content.accessToken = "\(secret("access", number, version: version))"
        registration.content.allowedKeyList = [Array(secret("contact", number, version: version).utf8)]
        registration.content.blockedChatList = [Array(secret("blocked", number, version: version).utf8)]
        registration.content.mutedChatList = (0..<number % 20).map { Array(secret("muted-\($0)", number, version: version).utf8) }
        return registration
    }

    private func push(_ number: Int) -> AcceptedPush {
        AcceptedPush(
            target: installation(number, key: number), deduplicationKey: hash(number), tokenType: .apn,
            deviceToken: DeviceToken(secret("pushed", number)), apnTopic: "im.status.ethereum", type: .mention,
            chatID: Array(secret("chat", number).utf8), message: Array(secret("message", number).utf8))
    }

    private func device(_ number: Int) -> ProxyDevice {
        ProxyDevice(
            identifier: DeviceIdentifier(hash(number)), userKey: GatewayVectors.publicKey("user_alice"), pushTokenHash: hash(number),
            platform: .ios, token: DeviceToken(secret("proxy", number)), topic: "topic", voipToken: DeviceToken(secret("calls", number)),
            voipTopic: "topic.voip", createdAt: start, updatedAt: start)
    }

    private func reply(_ number: Int) -> Reply {
        var reply = StoreTests.reply(number, status: hash(number))
        reply.payload = Array(secret("reply", number).utf8)
        return reply
    }

    private var originDevice: OriginDevice {
        OriginDevice(
            user: "alice", tokenID: 1, identifier: "i", publicKey: GatewayVectors.publicKey("device_ios"), pushTokenHash: "h",
            proxy: "https://a", appType: .talk, lastSeen: nil, createdAt: start)
    }

    /// Stores the secrets, and replaces or erases some of them.
    func plant(in store: any PushStore & ProxyStore & OriginStore) async throws {
        try await store.apply(at: start) { batch in
            for number in 1...Self.count { batch.register(registration(number), topics: topics) }
        }
        try await store.apply(at: start) { batch in
            for number in 1...Self.renewedCount { batch.register(registration(number, version: 2), topics: topics) }
        }
        for number in [Self.count - 1, Self.count] {
            _ = try await store.unregister(token: registration(number).content.deviceToken, attemptedAt: Self.later, at: Self.later)
        }
        for number in 1...50 {
            let row = try await store.record(number)
            try await store.decide([row], as: .answered(reply(number)))
        }
        try await store.enqueue((1...100).map(push))
        try await store.change(Array(1...20), to: .finish(.sent))
        let notification = GatewayNotification(
            platform: .ios, token: DeviceToken(secret("gateway", 1)), topic: "topic", kind: .alert, priority: .high, data: [:])
        let owner: Digest64 = hash(1)
        let accepted = AcceptedNotification(notification, digest: hash(900), owner: owner.bytes)
        _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: start)
        for number in 1...20 {
            try await store.changeDevice(device(number).identifier, at: start) { _ in (.put(device(number)), ()) }
        }
        try await store.changeDevice(device(20).identifier, at: start) { _ in (.remove, ()) }
        _ = try await store.addOriginUserKey(Array(secret("origin", 1).utf8), of: "alice")
        try await store.changeOriginDevices(of: "alice") { _ in (OriginChange(put: originDevice), ()) }
        let pushes = [
            OriginPush(
                tokenID: 1, subject: secret("subject", 1), signature: secret("signature", 1), priority: .high, kind: .voip, expiresAt: start
            )
        ]
        try await store.acceptOriginPushes(pushes, of: "alice")
        var update = OutboxUpdate()
        update.tokens = [.suspect(hash(1), Suspicion(since: start, refusedAt: start), route: ""), .deliveredToken(hash(2))]
        _ = try await store.update(update, at: start)
    }

    /// Expects that the store returns all planted secrets.
    func expectComplete(in store: any PushStore & ProxyStore & OriginStore, sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        for number in 1...Self.count - 2 {
            let registered = registration(number, version: number <= Self.renewedCount ? 2 : 1)
            let target = try await store.target(registered.installation, loading: Set(registered.content.blockedChatList))
            #expect(target?.accessToken == registered.content.accessToken, sourceLocation: sourceLocation)
            #expect(target?.blockedChatList == Set(registered.content.blockedChatList), sourceLocation: sourceLocation)
            let queryable = try await store.queryable(number)
            #expect(queryable?.content == [QueryableRegistration(registered.content)], sourceLocation: sourceLocation)
        }
        // A reopened store takes over the earlier one's pushes.
        _ = try await store.takeOverOutbox(routes: [], latest: start.advanced(by: .seconds(1_000_000)))
        _ = try await store.waitingProxies()
        let due = try await store.duePushes(route: "", at: start, limit: 999)
        for push in due where push.notification == nil {
            let number = push.push.target.number
            #expect(push.push.message == self.push(number).message, sourceLocation: sourceLocation)
            #expect(push.push.deviceToken == registration(number, version: 2).content.deviceToken, sourceLocation: sourceLocation)
        }
        let notifications = due.compactMap(\.notification?.token.text)
        #expect(due.count == 81 && notifications == [secret("proxy", 1)], sourceLocation: sourceLocation)

        let devices = try await store.devices(Set((1...20).map { device($0).identifier }), removedSince: start)
        #expect(devices.known[device(1).identifier] == .readable(device(1)), sourceLocation: sourceLocation)
        #expect(devices.known.count == 19 && devices.removed.count == 1, sourceLocation: sourceLocation)
        let responses = try await store.state { $0.requests = Set((1...50).map { hash($0) }) }.responses
        #expect(responses.count == 50 && responses[hash(7)] == reply(7).payload, sourceLocation: sourceLocation)
        _ = try await store.unfinishedRows()
        let unreplied = try await store.unreplied(Array(1...99)).map(\.reply.payload)
        #expect(unreplied == (1...50).map { reply($0).payload }, sourceLocation: sourceLocation)
        let waiting = try await store.waitingOriginPushes(to: "https://a", limit: 9).map(\.push.subject)
        #expect(waiting == [secret("subject", 1)], sourceLocation: sourceLocation)
        let key = try await store.originUserKey(of: "alice")
        #expect(key == Array(secret("origin", 1).utf8), sourceLocation: sourceLocation)
        let suspicions = try await store.suspicions(against: [hash(1), hash(3)], in: "")
        #expect(suspicions.byTarget.mapValues(\.since) == [hash(1): start], sourceLocation: sourceLocation)
        let audit = Audit(try await store.auditFacts())
        #expect(audit.balances, sourceLocation: sourceLocation)
    }

    /// The beginnings or endings of all secrets.
    static let traces = ["secret-", "-secret"]
}

extension Installation {
    fileprivate var number: Int { Int(installationID.dropFirst("installation-".count)) ?? 0 }
}
