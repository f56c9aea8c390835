import Bytes
import ServerCrypto
import StatusCrypto

/// The public key for which a file is encrypted, like `age1…`.
package struct AgeRecipient: Hashable, Sendable, CustomStringConvertible {
    private static let prefix = "age"

    let publicKey: FixedBytes<32>

    init(publicKey: FixedBytes<32>) {
        self.publicKey = publicKey
    }

    /// - Returns: The key, or nil if the text is not a public key of age. Keys of plugins and of SSH are rejected.
    package init?(_ text: String) {
        guard let bytes = Bech32.decode(text, prefix: Self.prefix), let publicKey = FixedBytes<32>(bytes),
            // A public key of small order shares the same secret with every private key.
            X25519.sharedSecret(of: SecretBytes(FixedBytes(repeating: 1)), with: publicKey) != nil
        else { return nil }
        self.publicKey = publicKey
    }

    package var description: String { Bech32.encode(publicKey.bytes, prefix: Self.prefix) }
}

/// The private key that opens a file, like `AGE-SECRET-KEY-1…`.
package struct AgeIdentity: HoldsSecret, Sendable {
    private static let prefix = "age-secret-key-"

    let privateKey: SecretBytes

    /// - Returns: The key, or nil if the text is not a private key of age.
    package init?(_ text: String) {
        guard var bytes = Bech32.decode(text, prefix: Self.prefix), var privateKey = FixedBytes<32>(bytes) else { return nil }
        defer {
            bytes.wipe()
            privateKey.wipe()
        }
        self.privateKey = SecretBytes(privateKey)
    }

    package var recipient: AgeRecipient { AgeRecipient(publicKey: X25519.publicKey(of: privateKey)) }

    /// Reads the private keys in an identity file, as `age-keygen` writes it: a key per line, and comments that begin with `#`.
    ///
    /// - Returns: The keys, or nil if none exists, or if a line is neither a key nor a comment.
    package static func readAll(_ text: String) -> [AgeIdentity]? {
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }
        let identities = lines.compactMap { AgeIdentity(String($0)) }
        return identities.isEmpty || identities.count != lines.count ? nil : identities
    }
}
