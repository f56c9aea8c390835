import Bytes
import Envelope
import HTTPClient
import ServerCrypto
import StatusCrypto
import Store

/// `POST` and `DELETE` of `…/push` (GATEWAY_PROTOCOLS.md §4.1 to 4.3).
extension NextcloudOrigin {
    /// A registration takes 1 KB.
    private static let maximumBodyByteCount = 32 << 10

    /// - Returns: The fields, or nil if the body cannot be read.
    private func fields(_ request: GatewayRequest) async throws -> RequestFields? {
        let body = try await request.body(upTo: Self.maximumBodyByteCount)
        return try? RequestFields(query: request.query, contentType: request.contentType, body: body, names: OriginRegistration.names)
    }

    func register(_ request: GatewayRequest, _ version: OriginRegistration.Version) async throws -> OCSResponse {
        guard let session = try await session(request) else { return .notLoggedIn }
        let fields = try await fields(request)
        let registration: OriginRegistration
        do throws(OriginRegistration.Fault) {
            registration = try OriginRegistration(fields, version, allowsLocalProxies: configuration.allowsLocalProxies)
        } catch {
            return .fault(error)
        }
        guard let tokenID = session.tokenID else { return .fault(.sessionToken) }
        let key = try await keys.findOrMake(session.user)
        let identifier = OriginIdentifier(user: session.user, server: configuration.serverURL, tokenID: tokenID)
        let device = OriginDevice(
            user: session.user, tokenID: tokenID, identifier: identifier.text, publicKey: registration.deviceKey,
            pushTokenHash: registration.pushTokenHash, proxy: registration.proxy.text,
            appType: AppType(userAgent: request.headers["User-Agent"] ?? ""), lastSeen: session.lastSeen, createdAt: wallClock.read().stamp)
        let registered = try await store.changeOriginDevices(of: session.user) { device.register(among: $0, version) }
        if registered == .otherKey { return .fault(.deviceKey) }
        // Pushes that waited for the device's previous proxy wait for this proxy now.
        onWaiting([WaitingProxy(proxy: device.proxy, user: session.user, hasCall: false)])
        return OCSResponse(
            registered == .changed ? 201 : 200,
            .object([
                ("publicKey", .text(key.publicKey.pem)), ("deviceIdentifier", .text(identifier.text)),
                ("signature", .text(identifier.signature(by: key))),
            ]))
    }

    func unregister(_ request: GatewayRequest) async throws -> OCSResponse {
        guard let session = try await session(request) else { return .notLoggedIn }
        guard let tokenID = session.tokenID else { return .fault(.sessionToken) }
        return OCSResponse(try await remove(tokenID, of: session.user) ? 202 : 200)
    }

    /// Unregisters a device by v3, which requires the device's key.
    func unregisterByKey(_ request: GatewayRequest, _ version: OriginRegistration.Version) async throws -> OCSResponse {
        guard let session = try await session(request) else { return .notLoggedIn }
        guard let key = OriginRegistration.deviceKey(try await fields(request), version) else { return .fault(.deviceKey) }
        guard let tokenID = session.tokenID else { return .fault(.sessionToken) }
        return try await remove(tokenID, of: session.user, key: key) ? OCSResponse(202) : .fault(.deviceKey)
    }

    /// Removes a device.
    ///
    /// - Parameter key: The key that the device must have, or nil for any.
    /// - Returns: Whether there was such a device.
    private func remove(_ tokenID: Int64, of user: String, key: RSAPublicKey? = nil) async throws -> Bool {
        try await store.changeOriginDevices(of: user) { devices in
            let isThere = devices.contains { $0.tokenID == tokenID && (key == nil || $0.publicKey == key) }
            return (OriginChange(removed: isThere ? [tokenID] : []), isThere)
        }
    }
}
