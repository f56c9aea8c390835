import Bytes
import Envelope
import Foundation
import HTTPClient
import Logging
import ServerCrypto
import StatusCrypto
import Store
import Synchronization
import TestServers
import TestSupport

@testable import HTTPGateways

/// A proxy behind HTTP, its store in memory, and manual clocks.
struct ProxyWorld: ManuallyClocked, Sendable {
    /// A store as strict as a database: it runs one transaction at a time, and a failed one changes no data.
    final class MemoryStore: ProxyStore, ProxyOutbox {
        struct Full: Error {}

        struct Content: Sendable {
            var devices: [DeviceIdentifier: StoredDevice] = [:]
            var removals: [DeviceIdentifier: Timestamp] = [:]
            var accepted: [(notification: AcceptedNotification, at: Timestamp)] = []
            /// The number of transactions before the store is full.
            var room = Int.max
            /// Whether the storage rejects new devices.
            var isStorageFull = false
            /// Whether the push queue has no free slot.
            var isQueueFull = false

            mutating func takeRoom() throws {
                guard room > 0 else { throw Full() }
                room -= 1
            }
        }

        private let content = Mutex(Content())
        let acceptedBatches = Condition(0)
        /// Whether writes proceed. While false, they wait.
        let takes = Condition(true)
        /// The maximum number of notifications in one write.
        let longestWrite = Condition(0)
        /// Whether lookups of these devices proceed. While false, they wait.
        let finds = Condition<@Sendable (Set<DeviceIdentifier>) -> Bool> { _ in true }
        /// The number of lookups in progress, its maximum so far, and the number of finished ones.
        let lookups = Condition((count: 0, highest: 0, answered: 0))

        var devices: [ProxyDevice] {
            content.withLock { $0.devices.values.compactMap { if case .readable(let device) = $0 { device } else { nil } } }
        }
        var accepted: [GatewayNotification] { content.withLock { $0.accepted.map(\.notification.notification) } }
        var owners: [[UInt8]] { content.withLock { $0.accepted.map(\.notification.owner) } }

        /// - Parameter room: The number of transactions before the store is full.
        func set(room: Int) { content.withLock { $0.room = room } }

        func set(isStorageFull: Bool) { content.withLock { $0.isStorageFull = isStorageFull } }
        func set(isQueueFull: Bool) { content.withLock { $0.isQueueFull = isQueueFull } }
        func damage(_ identifier: DeviceIdentifier) { content.withLock { $0.devices[identifier] = .damaged } }

        func changeDevice<Result: Sendable>(
            _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (StoredDevice?) -> (DeviceChange, Result)
        ) async throws -> Result {
            try content.withLock { content in
                try content.takeRoom()
                let (change, result) = decide(content.devices[identifier])
                switch change {
                case .none: break
                case .put(let device):
                    if content.isStorageFull, content.devices[identifier] == nil { throw StoreError.storageFull }
                    content.devices[identifier] = .readable(device)
                    content.removals[identifier] = nil
                case .remove:
                    content.devices[identifier] = nil
                    content.removals[identifier] = now
                }
                return result
            }
        }

        func devices(
            _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
        ) async throws -> (known: [DeviceIdentifier: StoredDevice], removed: Set<DeviceIdentifier>) {
            lookups.change { $0 = ($0.count + 1, max($0.highest, $0.count + 1), $0.answered) }
            defer { lookups.change { $0 = ($0.count - 1, $0.highest, $0.answered + 1) } }
            await finds.wait { $0(identifiers) }
            return content.withLock { content in
                (
                    content.devices.filter { identifiers.contains($0.key) },
                    Set(content.removals.filter { identifiers.contains($0.key) && $0.value >= removedSince }.keys)
                )
            }
        }

        func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws {
            longestWrite.change { $0 = max($0, notifications.count) }
            await takes.wait { $0 }
            try content.withLock { content in
                try content.takeRoom()
                if content.isQueueFull { throw StoreError.queueFull }
                for notification in notifications
                where !content.accepted.contains(where: { $0.notification.digest == notification.digest && $0.at >= repeatsSince }) {
                    content.accepted.append((notification, now))
                }
            }
            acceptedBatches.change { $0 += 1 }
        }
    }

    /// Stub servers that show keys of accounts.
    final class StubProof: IdentityProof {
        private let keys = Mutex<[String: RSAPublicKey]>([:])
        private let asked = Mutex<[String]>([])

        var questions: [String] { asked.withLock { $0 } }

        func show(_ key: RSAPublicKey, at url: String) { keys.withLock { $0[url] = key } }

        func key(of account: CloudID) async -> RSAPublicKey? {
            asked.withLock { $0.append(account.keyURL) }
            return keys.withLock { $0[account.keyURL] }
        }
    }

    static let talk = "Mozilla/5.0 (iOS) Nextcloud-Talk v23.0.2 (Strict VoIP)"
    static let apps = [
        AppRule(userAgent: "Nextcloud-Talk", token: .apns, platform: .ios, topic: "com.example.talk", voipTopic: "com.example.talk.voip"),
        AppRule(token: .apns, platform: .ios, topic: "com.example.files"),
        AppRule(token: .fcm, platform: .android),
    ]

    let client: GatewayClient
    let proxy: NextcloudProxy
    let store: MemoryStore
    let proof: StubProof
    let clock: ManualClock
    let wallClock: ManualWallClock

    func post(
        _ session: String, _ request: String = "post_devices_form", userAgent: String = talk
    ) async throws -> GatewayClient.Answer {
        try await client.send(.post, "/devices", GatewayVectors.request(session, request), headers: [("User-Agent", userAgent)])
    }

    /// Registers all three devices of Alice.
    func registerAlice() async throws {
        for session in ["alice_talk_ios", "alice_files_android", "alice_files_ios"] {
            let userAgent = session == "alice_talk_ios" ? Self.talk : "Jakarta Commons-HttpClient/3.1"
            _ = try await post(session, userAgent: userAgent)
        }
    }

    func notify(_ entries: [String]) async throws -> GatewayClient.Answer {
        try await client.send(.post, "/notifications", Self.batch(entries))
    }

    static func batch(_ entries: [String]) -> String {
        entries.enumerated().map { index, entry in "notifications%5B\(index)%5D=" + encode(entry) }.joined(separator: "&")
    }

    /// Encodes like `http_build_query`.
    static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "0"..."9", "a"..."z", "A"..."Z", "-", ".", "_": String(Unicode.Scalar(byte))
            case " ": "+"
            default: "%" + Hex.encode([byte]).uppercased()
            }
        }.joined()
    }
}

func withProxy(
    _ configuration: NextcloudProxy.Configuration = .init(apps: ProxyWorld.apps, firstMissGrace: .zero, registrationsPerMinute: 0),
    trustedProxies: Set<IPAddress> = [], listenerClock: any Clock<Duration> = ContinuousClock(), logger: Logger = quietLogger,
    _ test: (ProxyWorld) async throws -> Void
) async throws {
    let (store, proof) = (ProxyWorld.MemoryStore(), ProxyWorld.StubProof())
    let (clock, wallClock) = (ManualClock(), ManualWallClock(TestNode.start))
    let proxy = NextcloudProxy(
        configuration: configuration, store: store, outbox: store, proof: proof, clock: clock, wallClock: wallClock.clock, logger: logger)
    try await withGateways([proxy], trustedProxies: trustedProxies, clock: listenerClock, logger: logger) { client in
        try await test(ProxyWorld(client: client, proxy: proxy, store: store, proof: proof, clock: clock, wallClock: wallClock))
    }
}
