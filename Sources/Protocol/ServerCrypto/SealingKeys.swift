package import Bytes
package import StatusCrypto

/// The keys that seal values at rest with AES-256-GCM. The newest key seals. All of them open.
///
/// A sealed value is: key id (1 byte) ‖ nonce (12) ‖ ciphertext ‖ tag (16). Nonces are random, so a key may seal 2³² values (NIST
/// SP 800-38D, section 8.3).
package struct SealingKeys: HoldsSecret, Sendable {
    /// What a sealed value has in addition to its plaintext.
    package static let overheadByteCount = 1 + AESGCM.nonceByteCount + AESGCM.tagByteCount

    /// The id of the key that seals.
    package let newest: UInt8
    private let sealingKey: SymmetricKey
    private let keys: [UInt8: SymmetricKey]
    private let random = SecureRandom()

    /// Creates the keys from a key file's secrets, the newest first.
    ///
    /// - Returns: Nil without any key, or if an id is there twice.
    package init?(_ secrets: [(id: UInt8, secret: SecretBytes)]) {
        var keys: [UInt8: SymmetricKey] = [:]
        for (id, secret) in secrets {
            let key = secret.withExposedBytes { HKDFSHA256.deriveKey(from: $0, info: "pushserver sealing: values") }
            guard keys.updateValue(key, forKey: id) == nil else { return nil }
        }
        guard let newest = secrets.first?.id, let sealingKey = keys[newest] else { return nil }
        self.newest = newest
        self.sealingKey = sealingKey
        self.keys = keys
    }

    /// Returns whether the file has the key with that id.
    package func has(_ id: UInt8) -> Bool { keys[id] != nil }

    /// Seals with the newest key and a random nonce.
    ///
    /// - Parameter associatedData: The value's place. The value opens in no other place.
    package func seal(_ plaintext: [UInt8], associatedData: [UInt8]) -> [UInt8] {
        var random = random
        return seal(plaintext, associatedData: associatedData, nonce: random.fixedBytes())
    }

    /// Seals with the newest key.
    ///
    /// - Parameter nonce: A nonce that is never used twice with the same key.
    package func seal(_ plaintext: [UInt8], associatedData: [UInt8], nonce: FixedBytes<12>) -> [UInt8] {
        let ciphertext = AESGCM.seal(plaintext.span, key: sealingKey, nonce: nonce, associatedData: associatedData)
        var sealed: [UInt8] = []
        sealed.reserveCapacity(Self.overheadByteCount + plaintext.count)
        sealed.append(newest)
        sealed.append(copying: nonce.span)
        sealed.append(contentsOf: ciphertext)
        return sealed
    }

    /// Opens a value that any of the keys has sealed.
    ///
    /// - Throws: `AuthenticationFailure` if the key is unknown, or the value was changed or comes from another place.
    package func open(_ sealed: [UInt8], associatedData: [UInt8]) throws(AuthenticationFailure) -> [UInt8] {
        let span = sealed.span
        guard let id = sealed.first, let key = keys[id], sealed.count >= Self.overheadByteCount,
            let nonce = FixedBytes<12>(span.extracting(1..<1 + AESGCM.nonceByteCount))
        else { throw AuthenticationFailure() }
        return try AESGCM.open(
            span.extracting(droppingFirst: 1 + AESGCM.nonceByteCount), key: key, nonce: nonce, associatedData: associatedData)
    }
}
