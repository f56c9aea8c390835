import Bytes
import Envelope
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// The contract of the Nextcloud push proxy's store (GATEWAY_PROTOCOLS.md §2.2 to 2.4).
@Suite(.safetyNet)
struct ProxyStoreTests {
    private static let attemptedAt = start.advanced(by: .seconds(60))

    static func device(_ number: Int, token: DeviceToken = "0123456789abcdef token", voip: DeviceToken? = "voip") -> ProxyDevice {
        ProxyDevice(
            identifier: DeviceIdentifier(hash(number)), userKey: GatewayVectors.publicKey("user_alice"), pushTokenHash: hash(number),
            platform: .ios, token: token, topic: "topic", voipToken: voip, voipTopic: voip.map { _ in "topic.voip" },
            createdAt: start.advanced(by: .seconds(-7)), updatedAt: start)
    }

    private func put(_ device: ProxyDevice, in store: any ProxyStore, at now: Timestamp = start) async throws {
        try await store.changeDevice(device.identifier, at: now) { _ in (.put(device), ()) }
    }

    /// Returns the registered devices among those with these numbers.
    private func known(_ numbers: ClosedRange<Int>, in store: any ProxyStore) async throws -> [Int: ProxyDevice] {
        let known = try await store.devices(Set(numbers.map { DeviceIdentifier(hash($0)) }), removedSince: start).known
        return Dictionary(
            uniqueKeysWithValues: numbers.compactMap { number in
                if case .readable(let device) = known[DeviceIdentifier(hash(number))] { (number, device) } else { nil }
            })
    }

    @Test(arguments: StoreUnderTest.all)
    func `a device is found by its complete identifier, and replaces the previous one`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for number in 1...2 { try await put(Self.device(number), in: store) }
            let changed = Self.device(2, token: "another", voip: nil)
            let seen = try await store.changeDevice(changed.identifier, at: start) { (.put(changed), $0) }
            #expect(seen == .readable(Self.device(2)))
            let same = try await store.changeDevice(changed.identifier, at: start) { (.none, $0) }
            #expect(same == .readable(changed))
            #expect(try await known(1...3, in: store) == [1: Self.device(1), 2: changed])
        }
    }

    @Test func `a full storage rejects new devices and still changes known ones`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(maximumStoredByteCount: 400_000)
        var count = 0
        await #expect(throws: StoreError.storageFull) {
            for number in 1...10_000 {
                try await put(Self.device(number), in: store)
                count = number
            }
        }
        #expect(count > 10)
        try await put(Self.device(1, token: "another"), in: store)
        #expect(try await known(1...10_000, in: store).count == count)
        try await store.changeDevice(Self.device(2).identifier, at: start) { _ in (.remove, ()) }
        #expect(try await known(2...2, in: store).isEmpty)
        await store.close()
    }

    /// What becomes of a device before its push is attempted.
    enum Fate: CaseIterable {
        case stays, getsAnotherToken, getsAnotherApp, leaves

        var orphanReason: PushReason? {
            switch self {
            case .stays, .getsAnotherToken: nil
            case .getsAnotherApp: .otherApp
            case .leaves: .unregistered
            }
        }
    }

    @Test(arguments: StoreUnderTest.all, Fate.allCases)
    func `a waiting push goes to the token that its device has now, or ends with the device`(
        kind: StoreUnderTest, fate: Fate
    ) async throws {
        try await kind.withStore { store async throws in
            var device = Self.device(1)
            try await put(device, in: store)
            let owner = (hash(1) as Digest64).bytes
            let notifications = [
                GatewayNotification(platform: .ios, token: device.token, topic: "topic", kind: .alert, priority: .high, data: [:]),
                GatewayNotification(platform: .ios, token: "voip", topic: "topic.voip", kind: .voip, priority: .high, data: [:]),
            ]
            for (number, notification) in notifications.enumerated() {
                let accepted = AcceptedNotification(notification, digest: hash(number), owner: owner)
                _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: start)
            }
            switch fate {
            case .stays: break
            case .getsAnotherToken: (device.token, device.voipToken) = ("another", "another voip")
            case .getsAnotherApp: (device.topic, device.voipTopic) = ("other", "other.voip")
            case .leaves: try await store.changeDevice(device.identifier, at: start) { _ in (.remove, ()) }
            }
            if fate != .leaves { try await put(device, in: store) }
            for (row, token) in [(Int64(1), device.token), (2, device.voipToken)] {
                // The first look-up moves a push to its new device.
                for isMoved in fate == .getsAnotherToken ? [true, false] : [false] {
                    let found = try await store.pushes([.row(row)], route: "", acceptedSince: start, at: start).first
                    switch found {
                    case .push(let push, _) where !isMoved:
                        #expect(push.orphanReason == fate.orphanReason)
                        guard fate.orphanReason == nil else { continue }
                        #expect(push.notification?.token == token && push.push.deviceToken == token)
                    case .moved: #expect(isMoved)
                    default: Issue.record("\(String(describing: found))")
                    }
                }
            }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a device is removed after its lifetime without registration and notification`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for number in 1...3 { try await put(Self.device(number), in: store) }
            let day = start.advanced(by: .seconds(24 * 3_600 + 1))
            // A repeated notification is a sign of life too.
            var notification = AcceptedNotification(
                GatewayNotification(platform: .ios, token: "token", topic: "topic", kind: .alert, priority: .high, data: [:]),
                digest: hash(1), owner: (hash(2) as Digest64).bytes)
            for digest: Digest32 in [hash(1), hash(1)] {
                notification.digest = digest
                _ = try await store.enqueue([notification], repeatsSince: start, isDiscarded: false, at: day)
            }
            var changed = Self.device(3)
            changed.updatedAt = day
            try await put(changed, in: store, at: day)
            _ = try await store.unregisterUnused(for: .seconds(2 * 86_400), after: 0, at: day)
            #expect(try await known(1...3, in: store).count == 3)
            _ = try await store.unregisterUnused(for: .seconds(86_400), after: 0, at: day)
            #expect(try await known(1...3, in: store).keys.sorted() == [2, 3])
            let removed = try await store.devices([DeviceIdentifier(hash(1))], removedSince: day).removed
            #expect(removed == [DeviceIdentifier(hash(1))])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the identifier of a removed device is kept for a day`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            let later = start.advanced(by: .seconds(5))
            try await store.changeDevice(Self.device(1).identifier, at: later) { _ in (.remove, ()) }
            func isRemembered(since: Timestamp) async throws -> Bool {
                let (known, removed) = try await store.devices([Self.device(1).identifier], removedSince: since)
                #expect(known.isEmpty)
                return !removed.isEmpty
            }
            #expect(try await isRemembered(since: later))
            #expect(try await !isRemembered(since: later.advanced(by: .nanoseconds(1))))
            _ = try await store.prune(at: later.advanced(by: ProxyDevice.removalMemory))
            #expect(try await isRemembered(since: start))
            _ = try await store.prune(at: later.advanced(by: ProxyDevice.removalMemory + .nanoseconds(1)))
            #expect(try await !isRemembered(since: start))
            // The device may register again.
            try await put(Self.device(1), in: store)
            #expect(try await known(1...1, in: store) == [1: Self.device(1)])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a dead token removes its devices, and a dead token for calls removes only itself`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            try await put(Self.device(2, token: "other", voip: "other voip"), in: store)
            _ = try await store.unregister(token: "voip", apnTopic: "topic.voip", attemptedAt: Self.attemptedAt, at: start)
            var rest = Self.device(1)
            rest.voipToken = nil
            #expect(try await known(1...2, in: store)[1]?.voipToken == nil)
            #expect(try await known(1...2, in: store)[1]?.token == rest.token)
            _ = try await store.unregister(token: Self.device(1).token, apnTopic: "topic", attemptedAt: Self.attemptedAt, at: start)
            #expect(try await known(1...2, in: store).keys.sorted() == [2])
        }
    }

    /// An Android device has no bundle id.
    @Test(arguments: StoreUnderTest.all, GatewayNotification.Platform.allCases)
    func `a dead token removes a device of its platform`(kind: StoreUnderTest, platform: GatewayNotification.Platform) async throws {
        for type in [TokenType.apn, .firebase] {
            try await kind.withStore { store async throws in
                var device = Self.device(1, voip: nil)
                (device.platform, device.topic) = (platform, platform == .ios ? "topic" : nil)
                try await put(device, in: store)
                let topic = type == .apn ? "topic" : ""
                _ = try await store.unregister(token: device.token, type: type, apnTopic: topic, attemptedAt: Self.attemptedAt, at: start)
                #expect(try await known(1...1, in: store).isEmpty == ((type == .apn) == (platform == .ios)), "\(type)")
            }
        }
    }

    @Test(
        arguments: [
            ("0123456789abcdef other", "topic", attemptedAt), (device(1).token, "another topic", attemptedAt),
            (device(1).token, "topic", start), ("voip", "topic", attemptedAt),
        ] as [(DeviceToken, String, Timestamp)], StoreUnderTest.all)
    func `a verdict about another token, app or time removes no device`(
        verdict: (token: DeviceToken, topic: String, attemptedAt: Timestamp), kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store async throws in
            try await put(Self.device(1), in: store)
            _ = try await store.unregister(
                token: verdict.token, apnTopic: verdict.topic, attemptedAt: verdict.attemptedAt, at: verdict.attemptedAt)
            #expect(try await known(1...1, in: store) == [1: Self.device(1)])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `verdicts remove at most ten devices an hour`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            for number in 1...12 { try await put(Self.device(number, token: "token \(number)"), in: store) }
            func kill(_ number: Int, at now: Timestamp) async throws {
                _ = try await store.unregister(token: "token \(number)", apnTopic: "topic", attemptedAt: Self.attemptedAt, at: now)
            }
            for number in 1...11 { try await kill(number, at: Self.attemptedAt) }
            #expect(try await known(1...12, in: store).keys.sorted() == [11, 12])
            try await kill(11, at: Self.attemptedAt.advanced(by: .seconds(3_599)))
            #expect(try await known(1...12, in: store).count == 2)
            try await kill(11, at: Self.attemptedAt.advanced(by: .seconds(3_600)))
            #expect(try await known(1...12, in: store).keys.sorted() == [12])
        }
    }
}
