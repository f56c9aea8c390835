import StatusCrypto

/// The `allowed_key_list`: the access token once for each contact, encrypted under the key of both (71/STATUS-PUSH-NOTIFICATION-SERVER).
///
/// The entries do not reveal the contacts: each consists of 12 + 36 + 16 bytes that look random.
enum AllowedKeys {
    /// 4,000 entries: servers refuse a registration with a longer list (LIMITS.md).
    static let maximumCount = 4_000
    /// 256 KiB: servers refuse a registration whose lists take more bytes in all (LIMITS.md).
    static let maximumByteCount = 256 << 10
    /// The bytes of an entry of any list in the registration: 64, a field tag and a length.
    private static let entryByteCount = 66
    /// 20,000 entries: the length up to which an answer is searched. Other servers permit longer lists than ours.
    private static let maximumSearchCount = 20_000

    /// Returns the number of contacts that a registration has space for.
    ///
    /// - Parameter chatCount: The number of entries in the registration's other lists.
    static func capacity(besides chatCount: Int) -> Int {
        max(0, min(maximumCount, maximumByteCount / entryByteCount - chatCount))
    }

    /// Encrypts the access token for each contact. Beyond the capacity, contacts are left out by the order of their keys, so that every
    /// registration of the device leaves out the same ones.
    ///
    /// - Returns: `nonce(12) ‖ ciphertext ‖ tag(16)` for each contact, in random order.
    static func encrypt(
        _ accessToken: String, from owner: PrivateKey, to contacts: Set<IdentityKey>, capacity: Int = maximumCount,
        using random: inout some RandomNumberGenerator
    ) -> [[UInt8]] {
        let token = Array(accessToken.utf8)
        var list: [[UInt8]] = []
        let served = contacts.count > capacity ? Array(contacts.sorted { $0.hex < $1.hex }.prefix(capacity)) : Array(contacts)
        for contact in served {
            let key = owner.sharedSecret(with: contact.publicKey)
            list.append(AESGCM.sealCombined(token.span, key: key, nonce: random.fixedBytes()))
        }
        return list.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// - Returns: The access token, or nil if no entry is encrypted for the contact and contains a UUID.
    static func decrypt(_ list: [[UInt8]], of owner: PublicKey, for contact: PrivateKey) -> String? {
        let key = contact.sharedSecret(with: owner)
        for entry in list.prefix(maximumSearchCount) {
            guard let token = try? AESGCM.openCombined(entry.span, key: key) else { continue }
            let text = String(decoding: token, as: UTF8.self)
            if UniversallyUniqueID.isText(text.utf8[...]) { return text }
        }
        return nil
    }
}
