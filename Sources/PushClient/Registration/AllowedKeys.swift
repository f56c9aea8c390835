import StatusCrypto

/// `allowed_key_list`: the access token once for each contact, encrypted under the key of both (71/STATUS-PUSH-NOTIFICATION-SERVER).
///
/// Who the contacts are does not show: every entry is 12 + 36 + 16 bytes of what looks random.
enum AllowedKeys {
    /// A list of a server has 20,000 entries at most: more contacts would have the registration refused.
    static let maximumCount = 20_000

    /// - Returns: `nonce(12) ‖ ciphertext ‖ tag(16)` for each contact, in an order that tells nothing.
    static func encrypt(
        _ accessToken: String, from owner: PrivateKey, to contacts: Set<IdentityKey>, using random: inout some RandomNumberGenerator
    ) -> [[UInt8]] {
        let token = Array(accessToken.utf8)
        var list: [[UInt8]] = []
        for contact in contacts.prefix(maximumCount) {
            let key = owner.sharedSecret(with: contact.publicKey)
            list.append(AESGCM.sealCombined(token.span, key: key, nonce: random.fixedBytes()))
        }
        return list.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// - Returns: the access token, if one of the entries is for us and holds a UUID.
    static func decrypt(_ list: [[UInt8]], of owner: PublicKey, for contact: PrivateKey) -> String? {
        let key = contact.sharedSecret(with: owner)
        for entry in list.prefix(maximumCount) {
            guard let token = try? AESGCM.openCombined(entry.span, key: key) else { continue }
            let text = String(decoding: token, as: UTF8.self)
            if UniversallyUniqueID.isText(text.utf8[...]) { return text }
        }
        return nil
    }
}
