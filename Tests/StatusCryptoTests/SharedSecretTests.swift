import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The shared secrets of golden vectors 03.
@Suite(.safetyNet) struct SharedSecretTests {
    struct File: Decodable {
        let ecdh: [Agreement]
        let encrypt: [Encryption]
        let decrypt: [Decryption]

        static func load() throws -> File { try Vectors.load("03_ecdh_aesgcm") }
    }

    struct Agreement: Decodable, Sendable, CustomTestStringConvertible {
        let a: String
        let b: String
        let a_private_key: HexBytes
        let b_private_key: HexBytes
        let b_public_key: HexBytes
        let shared_key: HexBytes

        var testDescription: String { "\(a) and \(b)" }
    }

    struct Encryption: Decodable, Sendable {
        let key: HexBytes
        let nonce: HexBytes
        let plaintext: HexBytes
        let output: HexBytes
    }

    struct Decryption: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let key: HexBytes
        let input: HexBytes
        let plaintext: HexBytes
        let error: String?

        var testDescription: String { name }
    }

    @Test(arguments: try File.load().ecdh) func `both sides agree on the X coordinate, leading zeros kept`(_ vector: Agreement) throws {
        let a = try vector.a_private_key.privateKey()
        let b = try vector.b_private_key.privateKey()
        #expect(b.publicKey.uncompressed.bytes == vector.b_public_key.bytes)
        #expect(a.sharedSecret(with: b.publicKey).exposed == vector.shared_key.bytes)
        #expect(b.sharedSecret(with: a.publicKey).exposed == vector.shared_key.bytes)
    }

    /// The test omits the vectors with AES-128 and AES-192, because our key type has 32 bytes.
    @Test(arguments: try File.load().encrypt.filter { $0.key.bytes.count == 32 })
    func `AES-256-GCM seals to the reference's bytes and opens them`(_ vector: Encryption) throws {
        let key = try vector.key.symmetricKey()
        let nonce: FixedBytes<12> = try vector.nonce.fixed()
        let combined = AESGCM.sealCombined(vector.plaintext.bytes.span, key: key, nonce: nonce)
        #expect(combined == vector.output.bytes)
        #expect(try AESGCM.openCombined(combined.span, key: key) == vector.plaintext.bytes)

        let sealed = AESGCM.seal(vector.plaintext.bytes.span, key: key, nonce: nonce)
        #expect(sealed[...] == vector.output.bytes.dropFirst(12))
        #expect(try AESGCM.open(sealed.span, key: key, nonce: nonce) == vector.plaintext.bytes)
    }

    @Test(arguments: try File.load().decrypt) func `AES-256-GCM opens only unchanged ciphertexts`(_ vector: Decryption) throws {
        guard let keyBytes = FixedBytes<32>(vector.key.bytes) else {
            // Our key type fixes the length.
            #expect(vector.error == "crypto/aes: invalid key size 17")
            return
        }
        let key = SymmetricKey(keyBytes)
        if vector.error == nil {
            #expect(try AESGCM.openCombined(vector.input.bytes.span, key: key) == vector.plaintext.bytes)
        } else {
            #expect(throws: AuthenticationFailure.self) { try AESGCM.openCombined(vector.input.bytes.span, key: key) }
        }
    }
}
