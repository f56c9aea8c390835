package import Bytes
package import ServerCrypto
import StatusCrypto

/// A database's secrets in use: the random secret that it stores, and the keys that seal its rows.
package struct DatabaseSecrets: HoldsSecret, Sendable {
    package let fingerprints: ListFingerprints
    package let sealing: RowSealing

    /// The secrets when a store is opened without keys, because it only reads or copies sealed rows.
    package static let locked = DatabaseSecrets()

    private init() {
        // Such a store computes no fingerprint.
        fingerprints = ListFingerprints(key: FixedBytes())
        sealing = .locked
    }

    /// Opens a database's stored secret and checks the keys.
    ///
    /// - Parameters:
    ///   - stored: The secret as each key has sealed it.
    ///   - keys: The sealing keys, or nil without a sealing key file.
    ///   - isReadOnly: Whether the database may be opened without its keys, which locks its sealed values.
    /// - Throws: `StoreError.sealingKeyMissing` if the database is not read-only and `keys` is nil. `sealingKeyUnknown` or
    ///   `sealingKeyWrong` if a key that the database needs is not among the keys. `notSetUp` without any secret.
    package init(stored: [StoredSecret], identity: FixedBytes<33>, keys: SealingKeys?, isReadOnly: Bool) throws(StoreError) {
        guard !stored.isEmpty else { throw .notSetUp }
        guard let keys else {
            guard isReadOnly else { throw .sealingKeyMissing }
            self = .locked
            return
        }
        self = DatabaseSecrets(secret: try StoredSecret.open(stored, identity: identity, keys: keys), keys: keys)
    }

    /// - Parameter secret: The database's secret.
    package init(secret: FixedBytes<32>, keys: SealingKeys) {
        fingerprints = ListFingerprints(key: secret)
        sealing = .sealed(Sealer(keys, secret: secret))
    }
}

/// A database's random secret, as a single key has sealed it. The database stores it once for each key that its values are sealed with.
package struct StoredSecret: Sendable {
    package let keyID: UInt8
    package let sealed: [UInt8]

    package init(keyID: UInt8, sealed: [UInt8]) {
        self.keyID = keyID
        self.sealed = sealed
    }

    /// Seals the secret with the newest key.
    package init(_ secret: FixedBytes<32>, identity: FixedBytes<33>, keys: SealingKeys) {
        let place = SealedPlace.databaseSecret(of: identity, key: keys.newest)
        self.init(keyID: keys.newest, sealed: keys.seal(secret.bytes, associatedData: place.associatedData))
    }

    /// Opens the secret with each key that has sealed it.
    package static func open(_ stored: [StoredSecret], identity: FixedBytes<33>, keys: SealingKeys) throws(StoreError) -> FixedBytes<32> {
        var secret: FixedBytes<32>?
        for value in stored {
            guard keys.has(value.keyID) else { throw .sealingKeyUnknown(id: value.keyID) }
            let place = SealedPlace.databaseSecret(of: identity, key: value.keyID)
            guard let bytes = try? keys.open(value.sealed, associatedData: place.associatedData) else {
                throw .sealingKeyWrong(id: value.keyID)
            }
            secret = FixedBytes<32>(bytes)
        }
        guard let secret else { throw .damaged }
        return secret
    }
}

/// A change that a starting store makes in a database for its sealing keys.
package enum SealingChange: Sendable {
    /// The database is new and stores this secret.
    case start(StoredSecret)
    /// Re-sealing begins if the newest key doesn't seal yet. The secret is nil if the newest key has sealed it already.
    case rotate(adding: StoredSecret?)

    /// Decides which change to make.
    ///
    /// - Parameters:
    ///   - stored: The secret as each key has sealed it. Empty in a new database.
    ///   - newSecret: A new database's secret.
    /// - Throws: `StoreError.sealingKeyUnknown` or `sealingKeyWrong` if a key that the database needs is not among the keys.
    package init(
        stored: [StoredSecret], identity: FixedBytes<33>, keys: SealingKeys, newSecret: FixedBytes<32>
    ) throws(StoreError) {
        guard !stored.isEmpty else {
            self = .start(StoredSecret(newSecret, identity: identity, keys: keys))
            return
        }
        let secret = try StoredSecret.open(stored, identity: identity, keys: keys)
        let isNew = !stored.contains { $0.keyID == keys.newest }
        self = .rotate(adding: isNew ? StoredSecret(secret, identity: identity, keys: keys) : nil)
    }
}
