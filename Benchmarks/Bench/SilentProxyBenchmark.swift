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

/// The delay of calls from the Nextcloud origin to a responding push proxy, while other proxies never respond (docs/LIMITS.md).
enum SilentProxyBenchmark {
    static let proxyCount = 96
    static let userCount = 5
    private static let callCount = 100

    /// A push proxy that accepts everything, and the number of its requests.
    private struct HonestProxy: Gateway {
        let requestCount = Condition(0)

        func answer(_ request: GatewayRequest) async -> GatewayResponse? {
            _ = try? await request.body(upTo: 1 << 20)
            requestCount.change { $0 += 1 }
            return .json(200, #"{"unknown":[],"failed":0}"#)
        }
    }

    /// Measures the delays of calls, from the commit to the proxy's request, in each run.
    ///
    /// - Parameter silentCount: The number of silent proxies.
    static func measure(silentCount: Int, _ options: Options) async throws -> [Sample] {
        let key = RSAPrivateKey.generate().publicKey
        var samples: [Sample] = []
        for run in 0..<options.runCount {
            options.progress.say("abuse: \(silentCount) silent push proxies, run \(run + 1) of \(options.runCount)")
            samples.append(try await measureRun(silentCount, key, options))
        }
        return samples
    }

    private static func measureRun(_ silentCount: Int, _ key: RSAPublicKey, _ options: Options) async throws -> Sample {
        let folder = options.directory + "/origin"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try SeededStore.open(folder + "/run.sqlite")
        let silent = Condition(0)
        let tarpit = try RawServer { connection in
            _ = connection.readRequest()
            silent.change { $0 += 1 }
            connection.waitForEnd()
        }
        defer { tarpit.stop() }
        let delivery = ProxyDelivery(
            store: store, http: HTTPClient(), allowsLocalProxies: true, clock: ContinuousClock(), wallClock: .system, logger: .silent)
        for number in 0..<silentCount {
            let user = "mallory \(number % userCount)"
            try await register(user, Int64(number), at: "\(tarpit.url)/\(number)", key, in: store)
            try await push(.alert, to: user, Int64(number), in: store)
        }
        let honest = HonestProxy()
        var delays: [Double] = []
        try await withGateways([honest], logger: .silent) { client in
            try await register("alice", 1, at: client.url, key, in: store)
            try await withThrowingTaskGroup { group in
                group.addTask { await delivery.run() }
                if silentCount > 0 { await silent.wait { $0 > 0 } }
                for number in 1...callCount {
                    try await push(.voip, to: "alice", 1, in: store)
                    let start = ContinuousClock.now
                    delivery.wake([WaitingProxy(proxy: client.url, user: "alice", hasCall: true)])
                    await honest.requestCount.wait { $0 >= number }
                    delays.append((ContinuousClock.now - start).seconds * 1_000)
                }
                group.cancelAll()
            }
        }
        await store.close()
        return Sample(delays)
    }

    private static func register(_ user: String, _ tokenID: Int64, at proxy: String, _ key: RSAPublicKey, in store: SQLiteStore)
        async throws
    {
        let device = OriginDevice(
            user: user, tokenID: tokenID, identifier: "\(user) \(tokenID)", publicKey: key, pushTokenHash: "\(tokenID)", proxy: proxy,
            appType: .talk, lastSeen: nil, createdAt: WallClock.system.now())
        try await store.changeOriginDevices(of: user) { _ in (OriginChange(put: device), ()) }
    }

    private static func push(_ kind: GatewayNotification.Kind, to user: String, _ tokenID: Int64, in store: SQLiteStore) async throws {
        let push = OriginPush(
            tokenID: tokenID, subject: "subject", signature: "signature", priority: .high, kind: kind,
            expiresAt: WallClock.system.now().advanced(by: .seconds(3_600)))
        try await store.acceptOriginPushes([push], of: user)
    }
}
