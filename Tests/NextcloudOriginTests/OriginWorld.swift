import Bytes
import Envelope
import Foundation
import HTTPClient
import Logging
import SQLiteStore
import ServerCrypto
import StatusCrypto
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// An origin behind HTTP, its database, a proxy with configurable responses, and manual clocks.
struct OriginWorld: ManuallyClocked, Sendable {
    /// A backend that accepts a user name and the number of an app password: `alice 42`.
    struct StubBackend: AuthenticationBackend {
        func session(authorization: String) async throws(AuthenticationBackendError) -> Session? {
            let parts = authorization.split(separator: " ")
            if authorization == "broken" { throw AuthenticationBackendError() }
            return parts.count == 2 ? Session(user: String(parts[0]), tokenID: Int64(parts[1])) : nil
        }
    }

    /// A push proxy with configurable responses that records its requests.
    final class StubProxy: Gateway {
        static let taken = GatewayResponse.json(200, #"{"unknown":[],"failed":0}"#)

        let requests = Recorder<[JSONValue]>()
        let answer = Condition(taken)

        func answer(_ request: GatewayRequest) async -> GatewayResponse? {
            guard request.path.hasPrefix("/proxy"), request.path.hasSuffix("/notifications"),
                let body = try? await request.body(upTo: 1 << 20)
            else { return nil }
            requests.append((FormFields.read(body) ?? []).compactMap { JSONValue(text: $0.value) })
            return answer.value
        }
    }

    static let serverURL = "https://cloud.example.com"
    static let backendToken = "secret"
    static let sealingKey = SymmetricKey(FixedBytes(repeating: 7))
    static let push = "/ocs/v2.php/apps/notifications/api/v2/push"
    static let oldPush = "/ocs/v2.php/apps/notifications/api/v3/push"

    let folder: TemporaryFolder
    let client: GatewayClient
    let store: SQLiteStore
    let proxy: StubProxy
    let proxyURL: String
    let clock: ManualClock
    let wallClock: ManualWallClock
    let delivery: ProxyDelivery

    /// Sends an app's request. The request asks for JSON unless `headers` replaces that.
    func ocs(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, type: String? = "application/json", as user: String? = nil,
        userAgent: String = "", headers: [(name: String, value: String)] = [("Accept", "application/json")]
    ) async throws -> GatewayClient.Answer {
        var headers = headers + [("OCS-APIRequest", "true"), ("User-Agent", userAgent)]
        if let user { headers.append(("Authorization", user)) }
        return try await client.send(method, path, body, type: type, headers: headers)
    }

    /// Returns the registration of a vector's device, with this world's proxy.
    func registration(_ session: String, changing changes: [String: String?] = [:]) throws -> String {
        guard case .object(var members)? = JSONValue(text: GatewayVectors.request(session, "ocs_register_json")) else {
            throw POSIXError(.EINVAL)
        }
        members["proxyServer"] = .string(proxyURL + "/")
        for (name, value) in changes { members[name] = value.map { .string($0) } }
        return String(decoding: try JSONEncoder().encode(JSONValue.object(members)), as: UTF8.self)
    }

    /// Registers a vector's device for Alice, with the vector's token number.
    func register(_ session: String, changing changes: [String: String?] = [:]) async throws -> GatewayClient.Answer {
        let vector = GatewayVectors.session(session)
        return try await ocs(
            .post, Self.push, registration(session, changing: changes), as: "alice \(vector.tokenId)",
            userAgent: vector.userAgent ?? "")
    }

    func notify(_ body: String, token: String = backendToken) async throws -> Int {
        try await client.send(.post, "/notify", body, type: "application/json", headers: [("Authorization", "Bearer \(token)")]).status
    }

    func notify(_ nid: Int, type: String = "chat", app: String = "spreed") async throws -> Int {
        try await notify(
            #"{"uid":"alice","notification":{"nid":\#(nid),"app":"\#(app)","subject":"Hello","type":"\#(type)","id":"t0k3n"}}"#)
    }

    /// Returns an entry's content, as the device decrypts it.
    static func read(_ entry: JSONValue, key: String = "device_ios") -> String? {
        guard let block = try? bytes(entry["subject"]) else { return nil }
        return GatewayVectors.privateKey(key).decrypt(block, padding: .oaep).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the bytes of a base64 text.
    static func bytes(_ value: JSONValue?) throws -> [UInt8] {
        let data = value?.string.flatMap { Data(base64Encoded: $0) }
        return [UInt8](try #require(data))
    }
}

func withOrigin(
    pushServer: String? = nil, allowsLocalProxies: Bool = true, sealingKey: SymmetricKey = OriginWorld.sealingKey,
    in folder: TemporaryFolder? = nil, beside others: [any Gateway] = [], logger: Logger = quietLogger,
    _ test: (OriginWorld) async throws -> Void
) async throws {
    let folder = try folder ?? TemporaryFolder()
    let store = try SQLiteStore(
        path: folder.path("push.sqlite"), identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, logger: logger)
    let (clock, wallClock) = (ManualClock(), ManualWallClock(TestNode.start))
    let delivery = ProxyDelivery(
        store: store, http: HTTPClient(), allowsLocalProxies: true, timeout: TestNode.patience, clock: clock, wallClock: wallClock.clock,
        logger: logger)
    let origin = NextcloudOrigin(
        configuration: .init(
            serverURL: OriginWorld.serverURL, backendToken: OriginWorld.backendToken, allowsLocalProxies: allowsLocalProxies,
            pushServer: pushServer.map { ProxyURL(trusted: $0) }),
        store: store, backend: OriginWorld.StubBackend(), sealingKey: sealingKey, clock: clock, wallClock: wallClock.clock, logger: logger,
        onWaiting: { delivery.wake($0) })
    let proxy = OriginWorld.StubProxy()
    try await withGateways([origin, proxy] + others, logger: logger) { client in
        try await withThrowingTaskGroup { group in
            group.addTask { await delivery.run() }
            // The origin permits plain HTTP for this name.
            let proxyURL = client.url.replacing("127.0.0.1", with: "localhost") + "/proxy"
            try await test(
                OriginWorld(
                    folder: folder, client: client, store: store, proxy: proxy, proxyURL: proxyURL, clock: clock, wallClock: wallClock,
                    delivery: delivery))
            group.cancelAll()
        }
    }
    await store.close()
}
