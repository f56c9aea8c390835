package import Bytes

/// ECIES as in go-ethereum: secp256k1, the concatenation KDF of NIST SP 800-56 with SHA-256, AES-128-CTR, HMAC-SHA256 (PROTOCOL.md §3).
package enum ECIES {
    private static let keyByteCount = 65
    private static let vectorByteCount = 16
    private static let codeByteCount = 32

    /// Encrypts to a public key.
    ///
    /// - Returns: The ephemeral key `R` (65 bytes, uncompressed) ‖ IV (16) ‖ ciphertext, as long as the plaintext, ‖ HMAC (32).
    @specialized(where Random == SecureRandom)
    package static func seal<Random: RandomNumberGenerator>(
        _ plaintext: Span<UInt8>, to recipient: PublicKey, using random: inout Random
    ) -> [UInt8] {
        let ephemeral = PrivateKey.generate(using: &random)
        return seal(
            plaintext, ephemeralKey: ephemeral.publicKey, sharedSecret: ephemeral.sharedSecret(with: recipient),
            initializationVector: random.fixedBytes())
    }

    /// Encrypts with a given ephemeral key and IV, for tests against known bytes.
    package static func seal(
        _ plaintext: Span<UInt8>, ephemeralKey: PublicKey, sharedSecret: SymmetricKey, initializationVector: FixedBytes<16>
    ) -> [UInt8] {
        var keys = Keys(sharedSecret)
        defer { keys.wipe() }
        var ciphertext = [UInt8](copying: plaintext)
        AESCTR.apply(to: &ciphertext, key: keys.encryption, initializationVector: initializationVector)

        var sealed: [UInt8] = []
        sealed.reserveCapacity(keyByteCount + vectorByteCount + plaintext.count + codeByteCount)
        sealed.append(copying: ephemeralKey.uncompressed.span)
        sealed.append(copying: initializationVector.span)
        sealed.append(contentsOf: ciphertext)
        let code = HMACSHA256.authenticationCode(for: sealed.span.extracting(keyByteCount...), key: keys.authentication)
        sealed.append(copying: code.span)
        return sealed
    }

    /// Authenticates, then decrypts.
    ///
    /// - Parameter sealed: Any bytes. At least one byte of ciphertext and the prefix 04 of `R` are required.
    package static func open(_ sealed: Span<UInt8>, with key: PrivateKey) throws(AuthenticationFailure) -> [UInt8] {
        let bodyEnd = sealed.count - codeByteCount
        let ciphertextStart = keyByteCount + vectorByteCount
        guard ciphertextStart < bodyEnd,
            let ephemeral = FixedBytes<65>(sealed.extracting(first: keyByteCount)),
            let initializationVector = FixedBytes<16>(sealed.extracting(keyByteCount..<ciphertextStart)),
            let ephemeralKey = try? PublicKey(uncompressed: ephemeral)
        else { throw AuthenticationFailure() }

        var keys = Keys(key.sharedSecret(with: ephemeralKey))
        defer { keys.wipe() }
        let code = HMACSHA256.authenticationCode(for: sealed.extracting(keyByteCount..<bodyEnd), key: keys.authentication)
        guard ConstantTime.equal(code.span, sealed.extracting(last: codeByteCount)) else { throw AuthenticationFailure() }

        var plaintext = [UInt8](copying: sealed.extracting(ciphertextStart..<bodyEnd))
        AESCTR.apply(to: &plaintext, key: keys.encryption, initializationVector: initializationVector)
        return plaintext
    }

    /// K = SHA-256(00000001 ‖ z): the first half encrypts, SHA-256 of the second half authenticates.
    private struct Keys {
        private(set) var encryption = FixedBytes<16>()
        private(set) var authentication: FixedBytes<32>

        init(_ sharedSecret: SymmetricKey) {
            var hash = SHA256()
            let counter: InlineArray<4, UInt8> = [0, 0, 0, 1]
            hash.update(counter.span)
            sharedSecret.withExposedBytes { hash.update($0) }
            var material = hash.finalize()
            defer { material.wipe() }
            for index in 0..<16 { encryption[index] = material[index] }
            authentication = SHA256.hash(material.span.extracting(16...))
        }

        mutating func wipe() {
            encryption.wipe()
            authentication.wipe()
        }
    }
}
