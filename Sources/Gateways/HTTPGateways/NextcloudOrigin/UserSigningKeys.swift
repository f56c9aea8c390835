import Bytes
import ServerCrypto
import StatusCrypto
import Store
import Tasks
import Workers

/// The keys that sign for users. Each is generated when it is first needed, and stored sealed.
final class UserSigningKeys: Sendable {
    /// A stored key cannot be opened, because another server key sealed it. A replacement would make every proxy reject the user's devices,
    /// so the request fails.
    struct Unreadable: Error {}

    private let store: any OriginStore
    private let sealingKey: SymmetricKey
    private let thread = WorkerPool(name: "user keys")

    init(store: any OriginStore, sealingKey: SymmetricKey) {
        self.store = store
        self.sealingKey = sealingKey
    }

    /// - Returns: The user's key, or nil if none is stored.
    func find(_ user: String) async throws -> RSAPrivateKey? {
        try await store.originUserKey(of: user).map(open)
    }

    func findOrMake(_ user: String) async throws -> RSAPrivateKey {
        if let key = try await find(user) { return key }
        let sealed = try await thread.run { [sealingKey] in
            var random = SecureRandom()
            return AESGCM.sealCombined(RSAPrivateKey.generate().der.span, key: sealingKey, nonce: random.fixedBytes())
        }
        // A concurrent request may have stored a key first. All requests use the stored key.
        return try open(await store.addOriginUserKey(sealed, of: user))
    }

    private func open(_ sealed: [UInt8]) throws -> RSAPrivateKey {
        guard let der = try? AESGCM.openCombined(sealed.span, key: sealingKey), let key = RSAPrivateKey(der: der) else {
            throw Unreadable()
        }
        return key
    }
}
