import Bytes
import StatusCrypto

/// The `allowed_key_list`: the access token once for each contact, encrypted under the key of both (71/STATUS-PUSH-NOTIFICATION-SERVER).
///
/// The entries do not reveal the contacts: each consists of 12 + 36 + 16 bytes that look random.
enum AllowedKeys {
    /// The length up to which a response is searched. Other servers permit longer lists than ours.
    private static let maximumSearchCount = 20_000

    /// Encrypts the access token for each contact.
    ///
    /// - Returns: `nonce(12) ‖ ciphertext ‖ tag(16)` for each contact, in random order.
    static func encrypt(
        _ accessToken: String, from owner: PrivateKey, to contacts: Set<PublicKey>, using random: inout some RandomNumberGenerator
    ) -> [[UInt8]] {
        let token = Array(accessToken.utf8)
        var list: [[UInt8]] = []
        for contact in contacts {
            let key = owner.sharedSecret(with: contact.publicKey)
            list.append(AESGCM.sealCombined(token.span, key: key, nonce: random.fixedBytes()))
        }
        return list.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// - Returns: The access token, or nil if no entry is encrypted for the contact and contains a UUID.
    static func decrypt(_ list: [[UInt8]], of owner: StatusCrypto.PublicKey, for contact: PrivateKey) -> String? {
        let key = contact.sharedSecret(with: owner)
        for entry in list.prefix(maximumSearchCount) {
            guard let token = try? AESGCM.openCombined(entry.span, key: key) else { continue }
            let text = String(decoding: token, as: UTF8.self)
            if UniversallyUniqueID.isText(text.utf8[...]) { return text }
        }
        return nil
    }
}
