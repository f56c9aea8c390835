import Bytes
import Envelope
import SQLiteStore
import StatusCrypto
import Store
import TestSupport
import Testing

/// The contract of the Nextcloud origin's store.
@Suite(.safetyNet)
struct OriginStoreTests {
    static func device(_ tokenID: Int64, user: String = "Alice", proxy: String = "https://a", hash: String = "h1") -> OriginDevice {
        OriginDevice(
            user: user, tokenID: tokenID, identifier: "\(user) \(tokenID)", publicKey: GatewayVectors.publicKey("device_ios"),
            pushTokenHash: hash, proxy: proxy, appType: .talk, lastSeen: tokenID == 1 ? nil : start,
            createdAt: start.advanced(by: .seconds(-7)))
    }

    static func push(_ tokenID: Int64, _ subject: String = "s", kind: GatewayNotification.Kind = .voip) -> OriginPush {
        OriginPush(tokenID: tokenID, subject: subject, signature: "x", priority: .high, kind: kind, expiresAt: start)
    }

    private func put(_ device: OriginDevice, in store: any OriginStore) async throws {
        try await store.changeOriginDevices(of: device.user) { _ in (OriginChange(put: device), ()) }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a user's key is the first that was stored`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            #expect(try await store.originUserKey(of: "Alice") == nil)
            #expect(try await store.addOriginUserKey([1], of: "Alice") == [1])
            #expect(try await store.addOriginUserKey([2], of: "Alice") == [1])
            #expect(try await store.addOriginUserKey([3], of: "bob") == [3])
            #expect(try await store.originUserKey(of: "Alice") == [1])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a user has one device for each app password, and only devices of their own`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for device in [Self.device(1), Self.device(2), Self.device(1, user: "bob")] { try await put(device, in: store) }
            let changed = Self.device(2, proxy: "https://b", hash: "h2")
            let seen = try await store.changeOriginDevices(of: "Alice") { (OriginChange(put: changed, removed: [1, 9]), $0) }
            #expect(seen == [Self.device(1), Self.device(2)])
            #expect(try await store.originDevices(of: "Alice") == [changed])
            #expect(try await store.originDevices(of: "bob") == [Self.device(1, user: "bob")])
            #expect(try await store.registrationCounts().nextcloudOrigin == 2)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `pushes wait in their order by proxy, with their device as it is now`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for device in [Self.device(1), Self.device(2, proxy: "https://b")] { try await put(device, in: store) }
            try await store.acceptOriginPushes([Self.push(2, "1"), Self.push(1, "2"), Self.push(2, "3"), Self.push(9)], of: "Alice")
            #expect(
                try await Set(store.waitingProxies()) == [
                    WaitingProxy(proxy: "https://a", user: "Alice", hasCall: true),
                    WaitingProxy(proxy: "https://b", user: "Alice", hasCall: true),
                ])
            #expect(try await store.waitingOriginPushes(to: "https://b", limit: 1).map(\.push) == [Self.push(2, "1")])
            try await put(Self.device(2, proxy: "https://c", hash: "h2"), in: store)
            #expect(try await store.waitingOriginPushes(to: "https://b", limit: 9).isEmpty)
            let waiting = try await store.waitingOriginPushes(to: "https://c", limit: 9)
            #expect(waiting.map(\.push) == [Self.push(2, "1"), Self.push(2, "3")])
            #expect(waiting.allSatisfy { $0.pushTokenHash == "h2" && $0.deviceIdentifier == "Alice 2" })
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `calls come before pushes that have waited longer`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            let alerts = [Self.push(1, "1", kind: .alert), Self.push(1, "2", kind: .alert)]
            try await store.acceptOriginPushes(alerts, of: "Alice")
            #expect(try await store.waitingProxies() == [WaitingProxy(proxy: "https://a", user: "Alice", hasCall: false)])
            try await store.acceptOriginPushes([Self.push(1, "3")], of: "Alice")
            #expect(try await store.waitingProxies() == [WaitingProxy(proxy: "https://a", user: "Alice", hasCall: true)])
            #expect(try await store.waitingOriginPushes(to: "https://a", limit: 2).map(\.push.subject) == ["3", "1"])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `finished pushes are deleted, and unknown devices with all their waiting pushes`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for device in [Self.device(1), Self.device(2)] { try await put(device, in: store) }
            try await store.acceptOriginPushes([Self.push(1, "1"), Self.push(2, "2"), Self.push(1, "3"), Self.push(2, "4")], of: "Alice")
            let sent = try await store.waitingOriginPushes(to: "https://a", limit: 2)
            try await store.finishOriginPushes(sent, unknown: ["Alice 1", "bob 1"])
            #expect(try await store.originDevices(of: "Alice") == [Self.device(2)])
            #expect(try await store.waitingOriginPushes(to: "https://a", limit: 9).map(\.push) == [Self.push(2, "4")])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a device that has registered another token since is not removed as unknown`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            try await store.acceptOriginPushes([Self.push(1, "1")], of: "Alice")
            let sent = try await store.waitingOriginPushes(to: "https://a", limit: 9)
            try await put(Self.device(1, hash: "h2"), in: store)
            try await store.acceptOriginPushes([Self.push(1, "2")], of: "Alice")
            try await store.finishOriginPushes(sent, unknown: ["Alice 1"])
            #expect(try await store.waitingOriginPushes(to: "https://a", limit: 9).map(\.push) == [Self.push(1, "2")])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a late result finishes no newer push`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            try await store.acceptOriginPushes([Self.push(1, "1")], of: "Alice")
            let sent = try await store.waitingOriginPushes(to: "https://a", limit: 9)
            // The device is removed and registered again. The store must not reuse either number.
            try await store.changeOriginDevices(of: "Alice") { _ in (OriginChange(removed: [1]), ()) }
            #expect(try await store.waitingProxies().isEmpty)
            try await put(Self.device(1), in: store)
            try await store.acceptOriginPushes([Self.push(1, "2")], of: "Alice")
            try await store.finishOriginPushes(sent, unknown: ["Alice 1"])
            #expect(try await store.waitingOriginPushes(to: "https://a", limit: 9).map(\.push) == [Self.push(1, "2")])
        }
    }

    @Test(arguments: StoreUnderTest.all) func `devices, keys and waiting pushes survive a crash`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store async throws in
            _ = try await store.addOriginUserKey([1], of: "Alice")
            try await put(Self.device(1), in: store)
            try await store.acceptOriginPushes([Self.push(1)], of: "Alice")
        } after: { store async throws in
            #expect(try await store.originUserKey(of: "Alice") == [1])
            #expect(try await store.waitingProxies() == [WaitingProxy(proxy: "https://a", user: "Alice", hasCall: true)])
            #expect(try await store.waitingOriginPushes(to: "https://a", limit: 9).map(\.push) == [Self.push(1)])
        }
    }

    /// PostgreSQL would take a minute for this number of rows.
    @Test func `pushes beyond the capacity are rejected, all or none`() async throws {
        try await withSQLiteStore { store async throws in
            try await put(Self.device(1), in: store)
            try await store.acceptOriginPushes(Array(repeating: Self.push(1), count: OriginPush.maximumWaitingCount), of: "Alice")
            await #expect(throws: StoreError.queueFull) { try await store.acceptOriginPushes([Self.push(1)], of: "Alice") }
            let waiting = try await store.waitingOriginPushes(to: "https://a", limit: 1)
            try await store.finishOriginPushes(waiting, unknown: [])
            try await store.acceptOriginPushes([Self.push(1)], of: "Alice")
        }
    }
}
