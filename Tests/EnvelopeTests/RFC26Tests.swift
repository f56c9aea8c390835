import Bytes
import StatusCrypto
import TestSupport
import Testing

@testable import Envelope

@Suite(.safetyNet) struct RFC26Tests {
    // MARK: - The reference's bytes

    @Test(arguments: try RFC26Vectors.load().encoded) func `a payload of the reference opens`(_ vector: RFC26Vectors.Valid) throws {
        let frame = try open(vector.encoded.bytes, vector.recipientPrivateKey, vector.symmetricKey)
        #expect(vector.encoded.bytes.count == vector.encodedByteCount)
        #expect(frame.data == vector.data)
        #expect((frame.signature?.bytes.bytes ?? []) == vector.expect.signature?.bytes)
        #expect(frame.signer()?.uncompressed.bytes == vector.expect.public_key?.bytes)
        #expect(frame.signer() == (try vector.signerPrivateKey?.privateKey().publicKey))
        if let topicName = vector.topicName, let symmetricKey = vector.symmetricKey, vector.dataByteCount == 0 {
            #expect(TopicName(topicName).deriveSymmetricKey().exposed == symmetricKey.bytes)
        }
    }

    /// The vectors contain all random values: padding, ephemeral key (at least its shared secret), IV, nonce.
    @Test(arguments: try RFC26Vectors.load().encoded)
    func `sealing with the reference's random bytes gives the reference's payload`(_ vector: RFC26Vectors.Valid) throws {
        let payload = vector.encoded.bytes
        let plaintext = try decrypt(payload, vector.recipientPrivateKey, vector.symmetricKey)
        if let head = vector.frameHead { #expect(plaintext.starts(with: head.bytes)) }
        if let byteCount = vector.frameByteCount { #expect(plaintext.count == byteCount) }

        let signatureByteCount = vector.signed ? 65 : 0
        let padding = Array(plaintext.dropLast(signatureByteCount).suffix(vector.expect.padding_length ?? 0))
        let frame = try RFC26.Frame.encode(vector.data, signer: try vector.signerPrivateKey?.privateKey()) { paddingByteCount in
            #expect(paddingByteCount == padding.count)
            return padding
        }
        #expect(frame == plaintext)

        switch vector.kind {
        case .asymmetric:
            let recipient = try #require(vector.recipientPrivateKey).privateKey()
            let ephemeralKey = try PublicKey(uncompressed: payload.prefix(65))
            let sealed = ECIES.seal(
                frame.span, ephemeralKey: ephemeralKey, sharedSecret: recipient.sharedSecret(with: ephemeralKey),
                initializationVector: try #require(FixedBytes<16>(payload[65..<81])))
            #expect(sealed == payload)
        case .symmetric:
            let nonce = try #require(vector.nonce.flatMap { FixedBytes<12>($0.bytes) })
            #expect(RFC26.seal(frame, key: try #require(vector.symmetricKey).symmetricKey(), nonce: nonce) == payload)
        }
    }

    @Test(arguments: try RFC26Vectors.load().encoded.filter { $0.breakdown != nil })
    func `every step of ECIES is the reference's`(_ vector: RFC26Vectors.Valid) throws {
        let steps = try #require(vector.breakdown)
        let recipient = try #require(vector.recipientPrivateKey).privateKey()
        let z = recipient.sharedSecret(with: try PublicKey(uncompressed: steps.ephemeral_public_key.bytes))
        #expect(z.exposed == steps.z.bytes)
        let material = SHA256.hash([0, 0, 0, 1] + steps.z.bytes)
        #expect(material.bytes == steps.kdf_32.bytes)
        #expect(material.bytes.prefix(16) == steps.aes128_key.bytes[...])
        let authenticationKey = SHA256.hash(Array(material.bytes.suffix(16)))
        #expect(authenticationKey.bytes == steps.mac_key_sha256_of_second_half.bytes)
        let body = steps.iv.bytes + steps.ciphertext.bytes
        #expect(HMACSHA256.authenticationCode(for: body.span, key: authenticationKey).bytes == steps.mac.bytes)
        #expect(try decrypt(vector.encoded.bytes, vector.recipientPrivateKey, nil) == steps.frame.bytes)
        #expect(vector.encoded.bytes == steps.ephemeral_public_key.bytes + body + steps.mac.bytes)
    }

    @Test(arguments: try RFC26Vectors.load().malformed)
    func `invented payloads are accepted or rejected as by the reference`(_ vector: RFC26Vectors.Given) throws {
        guard let error = vector.expect.error else {
            let frame = try open(vector.encoded.bytes, vector.recipientPrivateKey, vector.symmetricKey)
            #expect(Hex.encode(frame.data) == vector.expect.data)
            #expect(frame.signer()?.uncompressed.bytes == vector.expect.public_key?.bytes)
            #expect((frame.signature?.bytes.bytes ?? []) == vector.expect.signature?.bytes)
            return
        }
        let expected: RFC26.OpenError =
            switch error {
            case "invalid message length": .malformedFrame
            case "recovery failed", "invalid signature recovery id": .malformedSignature
            default: .undecryptable
            }
        #expect(throws: expected) { try open(vector.encoded.bytes, vector.recipientPrivateKey, vector.symmetricKey) }
    }

    // MARK: - Ours

    /// The sizes are around each change of the length field's size and of the number of blocks.
    @Test(arguments: [0, 1, 188, 189, 190, 253, 254, 255, 256, 65_535, 65_536]) func `a sealed payload opens`(dataByteCount: Int) throws {
        var random = SplitMix64(seed: UInt64(dataByteCount))
        let recipient = PrivateKey.generate(using: &random)
        let key = SymmetricKey(random.fixedBytes())
        let data = random.bytes(dataByteCount)
        for signer in [PrivateKey.generate(using: &random), nil] {
            let asymmetric = try RFC26.sealAsymmetric(data, to: recipient.publicKey, signer: signer, using: &random)
            let symmetric = try RFC26.sealSymmetric(data, key: key, signer: signer, using: &random)
            #expect((asymmetric.count - 113).isMultiple(of: 256))
            #expect((symmetric.count - 28).isMultiple(of: 256))
            for frame in [try RFC26.openAsymmetric(asymmetric, with: recipient), try RFC26.openSymmetric(symmetric, with: key)] {
                #expect(frame.data == data)
                #expect(frame.signer() == signer?.publicKey)
            }
        }
    }

    @Test func `data of 16 MiB is refused`() throws {
        var random = SplitMix64(seed: 1)
        let key = SymmetricKey(random.fixedBytes())
        #expect(throws: RFC26.DataTooLong.self) {
            try RFC26.sealSymmetric([UInt8](repeating: 0, count: 1 << 24), key: key, signer: nil, using: &random)
        }
        let longest = [UInt8](repeating: 0, count: 1 << 24 - 1)
        let sealed = try RFC26.sealSymmetric(longest, key: key, signer: nil, using: &random)
        #expect(sealed.count > longest.count)
    }

    @Test func `another key opens no payload`() throws {
        var random = SplitMix64(seed: 2)
        let recipient = PrivateKey.generate(using: &random)
        let key = SymmetricKey(random.fixedBytes())
        let asymmetric = try RFC26.sealAsymmetric([1], to: recipient.publicKey, signer: nil, using: &random)
        let symmetric = try RFC26.sealSymmetric([1], key: key, signer: nil, using: &random)
        let otherKey = SymmetricKey(random.fixedBytes())
        let other = PrivateKey.generate(using: &random)
        #expect(try RFC26.openAsymmetric(asymmetric, with: recipient).data == [1])
        #expect(try RFC26.openSymmetric(symmetric, with: key).data == [1])
        #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openAsymmetric(asymmetric, with: other) }
        #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openSymmetric(symmetric, with: otherKey) }
    }

    @Test func `cut at any byte, a payload is rejected`() throws {
        var random = SplitMix64(seed: 3)
        let recipient = PrivateKey.generate(using: &random)
        let key = SymmetricKey(random.fixedBytes())
        let asymmetric = try RFC26.sealAsymmetric([1, 2, 3], to: recipient.publicKey, signer: recipient, using: &random)
        let symmetric = try RFC26.sealSymmetric([1, 2, 3], key: key, signer: recipient, using: &random)
        #expect(try RFC26.openAsymmetric(asymmetric, with: recipient).data == [1, 2, 3])
        #expect(try RFC26.openSymmetric(symmetric, with: key).data == [1, 2, 3])
        for count in asymmetric.indices {
            #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openAsymmetric(Array(asymmetric.prefix(count)), with: recipient) }
        }
        for count in symmetric.indices {
            #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openSymmetric(Array(symmetric.prefix(count)), with: key) }
        }
    }

    @Test func `random bytes are rejected, whatever their length`() {
        var random = SplitMix64(seed: 4)
        let recipient = PrivateKey.generate(using: &random)
        let key = SymmetricKey(random.fixedBytes())
        for count in 0..<400 {
            let bytes = random.bytes(count)
            #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openAsymmetric(bytes, with: recipient) }
            #expect(throws: RFC26.OpenError.undecryptable) { try RFC26.openSymmetric(bytes, with: key) }
        }
    }

    /// The sender of a frame chooses its bytes.
    @Test func `a frame of any bytes is rejected, or its content is in the bytes`() {
        var random = SplitMix64(seed: 5)
        for count in 0..<600 {
            var bytes = random.bytes(count)
            // Use each of the eight values of the flags, and short lengths, so that some frames are valid.
            if count > 0 { bytes[0] = UInt8(truncatingIfNeeded: count) }
            if count > 1 { bytes[1] &= 0x7F }
            guard let frame = try? RFC26.Frame(decoding: bytes) else { continue }
            #expect(frame.data.count < count)
            #expect((frame.signature != nil) == (bytes[0] & 4 != 0))
        }
    }

    // MARK: - Helpers

    func open(_ payload: [UInt8], _ recipient: HexBytes?, _ key: HexBytes?) throws -> RFC26.Frame {
        if let key { return try RFC26.openSymmetric(payload, with: key.symmetricKey()) }
        return try RFC26.openAsymmetric(payload, with: #require(recipient).privateKey())
    }

    func decrypt(_ payload: [UInt8], _ recipient: HexBytes?, _ key: HexBytes?) throws -> [UInt8] {
        if let key { return try #require(try RFC26.decrypt(payload.span, with: key.symmetricKey())) }
        return try ECIES.open(payload.span, with: #require(recipient).privateKey())
    }
}
