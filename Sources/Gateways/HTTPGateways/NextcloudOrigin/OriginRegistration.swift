import ServerCrypto
import StatusCrypto
import Store

/// A registration's parameters, checked in the reference's order (GATEWAY_PROTOCOLS.md §4.1, §4.3).
struct OriginRegistration: Sendable {
    /// The two drafts of the API that clients speak.
    enum Version: Sendable {
        case v2
        /// The older draft. All devices use the same proxy, and show their key to be removed.
        case v3(pushServer: ProxyURL)
    }

    /// The reference's words.
    enum Fault: String, Error, Sendable {
        case pushTokenHash = "INVALID_PUSHTOKEN_HASH"
        case deviceKey = "INVALID_DEVICE_KEY"
        case proxyServer = "INVALID_PROXY_SERVER"
        case sessionToken = "INVALID_SESSION_TOKEN"
    }

    var pushTokenHash: String
    var deviceKey: RSAPublicKey
    var proxy: ProxyURL

    static let names: Set = ["pushTokenHash", "devicePublicKey", "proxyServer"]

    /// - Parameter fields: The fields, or nil if they could not be read.
    init(_ fields: RequestFields?, _ version: Version, allowsLocalProxies: Bool) throws(Fault) {
        guard let hash = fields?["pushTokenHash"], hash.wholeMatch(of: /[0-9a-f]{128}/) != nil else { throw .pushTokenHash }
        guard let key = Self.deviceKey(fields, version) else { throw .deviceKey }
        pushTokenHash = hash
        deviceKey = key
        switch version {
        case .v2:
            guard let url = fields?["proxyServer"], let proxy = ProxyURL(url, allowsLocal: allowsLocalProxies) else { throw .proxyServer }
            self.proxy = proxy
        case .v3(let pushServer):
            proxy = pushServer
        }
    }

    /// A key of 2,048 bits that encrypts, as OpenSSL writes it: with or without the last line end, but v3 takes it only without.
    static func deviceKey(_ fields: RequestFields?, _ version: Version) -> RSAPublicKey? {
        guard let pem = fields?["devicePublicKey"], let key = RSAPublicKey(pem: pem), key.blockByteCount == 256,
            key.encrypt([], padding: .pkcs1) != nil
        else { return nil }
        switch version {
        case .v2 where pem == key.pem: return key
        case .v2, .v3: return pem + "\n" == key.pem ? key : nil
        }
    }
}

extension OriginDevice {
    /// A registration's effect.
    enum Registered: Sendable, Equatable {
        /// The device has to go to its proxy again.
        case changed
        case unchanged
        /// Another key is registered, which only v3 minds.
        case otherKey
    }

    /// - Parameter devices: The user's devices.
    func register(among devices: [OriginDevice], _ version: OriginRegistration.Version) -> (OriginChange, Registered) {
        guard let known = devices.first(where: { $0.tokenID == tokenID }) else {
            // The same phone under an app password that is no longer used.
            let sameToken = devices.filter { $0.pushTokenHash == pushTokenHash }.map(\.tokenID)
            return (OriginChange(put: self, removed: sameToken), .changed)
        }
        if case .v3 = version, known.publicKey != publicKey { return (OriginChange(), .otherKey) }
        var device = self
        device.createdAt = known.createdAt
        device.lastSeen = [known.lastSeen, lastSeen].compactMap(\.self).max()
        let isSame = known.publicKey == publicKey && known.pushTokenHash == pushTokenHash && known.proxy == proxy
        return (OriginChange(put: device), isSame ? .unchanged : .changed)
    }
}
