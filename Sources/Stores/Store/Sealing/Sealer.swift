package import Bytes
package import ServerCrypto
import StatusCrypto

/// Seals the secrets in a database's rows, and compares device tokens without reading them.
///
/// The keys come from the sealing key file and change when the operator rotates them. The database's secret is random and stays: the
/// database stores it sealed. Codes of device tokens depend on that secret, so a rotation does not change them.
package struct Sealer: HoldsSecret, Sendable {
    package let keys: SealingKeys
    private let codeKey: SymmetricKey

    /// - Parameter secret: The database's secret.
    package init(_ keys: SealingKeys, secret: FixedBytes<32>) {
        self.keys = keys
        codeKey = HKDFSHA256.deriveKey(from: secret.span, info: "pushserver sealing: device tokens")
    }

    /// Seals a place's fields with the newest key.
    package func seal(_ fields: [[UInt8]?], in place: SealedPlace) -> [UInt8] {
        keys.seal(SealedFields.join(fields), associatedData: place.associatedData)
    }

    /// Opens a place's fields.
    ///
    /// - Parameter count: The number of fields.
    /// - Throws: `damaged` if the value was sealed in another place, was changed, or has another number of fields.
    package func open(_ sealed: [UInt8], count: Int, in place: SealedPlace) throws(StoreError) -> [[UInt8]?] {
        let plaintext: [UInt8]
        do throws(AuthenticationFailure) {
            plaintext = try keys.open(sealed, associatedData: place.associatedData)
        } catch {
            throw .damaged
        }
        return try SealedFields.split(plaintext, count: count)
    }

    /// Returns whether the newest key has sealed the value.
    package func isCurrent(_ sealed: [UInt8]) -> Bool { sealed.first == keys.newest }

    /// Returns a device token's code: tokens are equal if their codes are.
    ///
    /// - Returns: The first 16 bytes of an HMAC-SHA256.
    package func code(of token: DeviceToken) -> FixedBytes<16> {
        let code = codeKey.withExposedBytes { HMACSHA256.authenticationCode(for: token.text.utf8Span.span, key: $0) }
        return FixedBytes<16>(code.span.extracting(first: 16)) ?? FixedBytes()
    }

    /// Returns the code that stands for a device token's digest in the database.
    package func code(of digest: Digest32) -> Digest32 {
        codeKey.withExposedBytes { HMACSHA256.authenticationCode(for: digest.span, key: $0) }
    }
}
