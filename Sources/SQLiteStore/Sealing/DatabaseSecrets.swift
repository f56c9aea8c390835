import GRDB
import StatusCrypto
import Store

/// The secrets of a database in use: the random secret that it stores, and the keys that seal its rows.
struct DatabaseSecrets: HoldsSecret, Sendable {
    let fingerprints: ListFingerprints
    let sealing: RowSealing

    /// Reads the secret of a database and checks the keys.
    ///
    /// - Parameter keys: The sealing keys; nil without a sealing key file.
    /// - Throws: `StoreError.sealingKeyMissing` if the database is sealed, not read-only, and `keys` is nil; `sealingKeyUnknown` or
    ///   `sealingKeyWrong` if a key of the database is not among the keys.
    init(_ database: Database, identity: FixedBytes<33>, keys: SealingKeys?) throws {
        let stored = try StoredSecret.all(database)
        guard !stored.isEmpty else {
            fingerprints = ListFingerprints(key: try StoredSecret.inClear(database))
            sealing = .clear
            return
        }
        guard let keys else {
            guard database.configuration.readonly else { throw StoreError.sealingKeyMissing }
            // A store for reading only computes no fingerprint.
            fingerprints = ListFingerprints(key: FixedBytes())
            sealing = .locked
            return
        }
        let secret = try StoredSecret.open(stored, identity: identity, keys: keys)
        fingerprints = ListFingerprints(key: secret)
        sealing = .sealed(Sealer(keys, secret: secret))
    }
}

/// The random secret of a database, once for each key that its values are sealed with.
struct StoredSecret {
    let keyID: UInt8
    private let sealed: [UInt8]

    static func all(_ database: Database) throws -> [StoredSecret] {
        try database.all("SELECT key_id, secret FROM sealing_key ORDER BY key_id") { row in
            guard let id = UInt8(exactly: try row.next(Int64.self)) else { throw StoreError.damaged }
            return StoredSecret(keyID: id, sealed: try row.next())
        }
    }

    /// Reads the secret of a database that is not sealed.
    static func inClear(_ database: Database) throws -> FixedBytes<32> {
        guard let secret = try database.first("SELECT list_key FROM identity", read: { try $0.next(FixedBytes<32>.self) }) else {
            throw StoreError.damaged
        }
        return secret
    }

    /// Opens the secret with each of its keys.
    static func open(_ stored: [StoredSecret], identity: FixedBytes<33>, keys: SealingKeys) throws(StoreError) -> FixedBytes<32> {
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

    /// Seals the secret with the newest key.
    static func insert(_ secret: FixedBytes<32>, identity: FixedBytes<33>, keys: SealingKeys, into database: Database) throws {
        let place = SealedPlace.databaseSecret(of: identity, key: keys.newest)
        let sealed = keys.seal(secret.bytes, associatedData: place.associatedData)
        try database.run("INSERT INTO sealing_key (key_id, secret) VALUES (?, ?)", Int64(keys.newest), sealed)
    }
}
