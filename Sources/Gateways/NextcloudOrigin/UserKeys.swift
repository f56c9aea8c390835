import Concurrency
import StatusCrypto
import Store

/// The key that signs for a user: made when it is first needed, and sealed in the store.
final class UserKeys: Sendable {
    /// A key cannot be opened: the server's own key is not the one that sealed it. A new one in its place would make every proxy refuse
    /// the user's devices, so nothing is done.
    struct Unreadable: Error {}

    private let store: any OriginStore
    private let sealingKey: SymmetricKey
    private let thread = WorkerPool(name: "user keys")

    init(store: any OriginStore, sealingKey: SymmetricKey) {
        self.store = store
        self.sealingKey = sealingKey
    }

    /// - Returns: nil if there is none.
    func find(_ user: String) async throws -> RSAPrivateKey? {
        try await store.originUserKey(of: user).map(open)
    }

    func findOrMake(_ user: String) async throws -> RSAPrivateKey {
        if let key = try await find(user) { return key }
        let sealed = try await thread.run { [sealingKey] in
            var random = SecureRandom()
            return AESGCM.sealCombined(RSAPrivateKey.generate().der.span, key: sealingKey, nonce: random.fixedBytes())
        }
        // Somebody else may have been faster: all use the one that is stored.
        return try open(await store.addOriginUserKey(sealed, of: user))
    }

    private func open(_ sealed: [UInt8]) throws -> RSAPrivateKey {
        guard let der = try? AESGCM.openCombined(sealed.span, key: sealingKey), let key = RSAPrivateKey(der: der) else {
            throw Unreadable()
        }
        return key
    }
}
