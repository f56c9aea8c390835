import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The keys of golden vectors 01.
@Suite(.safetyNet) struct KeyTests {
    struct File: Decodable {
        let keys: [Key]
        let privateKeys: [Candidate]
        let compressedPublicKeys: [Candidate]
        let uncompressedPublicKeys: [Candidate]

        enum CodingKeys: String, CodingKey {
            case keys
            case privateKeys = "private_keys"
            case compressedPublicKeys = "compressed_public_keys"
            case uncompressedPublicKeys = "uncompressed_public_keys"
        }

        static func load() throws -> File { try Vectors.load("01_hashes_keys") }
    }

    struct Key: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let private_key: HexBytes
        let public_key_compressed: HexBytes
        let public_key_uncompressed: HexBytes
        let hash_public_key: HexBytes
        let query_chat_name: String
        let identity_0x: String
        let author_field_shake256_of_0x_hex: HexBytes

        var testDescription: String { name }
    }

    struct Candidate: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: HexBytes
        let uncompressed: HexBytes?

        var testDescription: String { name }
    }

    @Test(arguments: try File.load().keys) func `a private key gives the reference's public key in every form`(_ vector: Key) throws {
        let privateKey = try vector.private_key.privateKey()
        let key = privateKey.publicKey
        #expect(key.uncompressed.bytes == vector.public_key_uncompressed.bytes)
        #expect(key.compressed.bytes == vector.public_key_compressed.bytes)
        #expect(key.x.bytes == Array(vector.public_key_uncompressed.bytes[1...32]))
        #expect(key.hash.bytes == vector.hash_public_key.bytes)
        #expect(key.hash.description == vector.query_chat_name)
        #expect(Hex.encode(key.uncompressed.bytes, prefix: "0x") == vector.identity_0x)
        #expect(Keccak.shake256(vector.identity_0x.utf8Span.span).bytes == vector.author_field_shake256_of_0x_hex.bytes)
        #expect(privateKey.exposed == vector.private_key.bytes)
    }

    @Test(arguments: try File.load().keys) func `a public key reads back from both encodings`(_ vector: Key) throws {
        let key = try vector.private_key.privateKey().publicKey
        #expect(try PublicKey(compressed: vector.public_key_compressed.bytes) == key)
        #expect(try PublicKey(uncompressed: vector.public_key_uncompressed.bytes) == key)
        #expect(Set([key, try PublicKey(compressed: key.compressed)]).count == 1)
    }

    @Test(arguments: try File.load().compressedPublicKeys)
    func `compressed keys are accepted only if they are a point`(_ vector: Candidate) throws {
        if let uncompressed = vector.uncompressed {
            #expect(try PublicKey(compressed: vector.bytes.bytes).uncompressed.bytes == uncompressed.bytes)
        } else {
            #expect(throws: InvalidPublicKey.self) { try PublicKey(compressed: vector.bytes.bytes) }
        }
    }

    @Test(arguments: try File.load().uncompressedPublicKeys)
    func `anything but 04 and a point is no uncompressed key`(_ vector: Candidate) {
        #expect(throws: InvalidPublicKey.self) { try PublicKey(uncompressed: vector.bytes.bytes) }
    }

    @Test(arguments: try File.load().privateKeys) func `zero, the order and other lengths are no private keys`(_ vector: Candidate) {
        guard let bytes = FixedBytes<32>(vector.bytes.bytes) else {
            #expect(vector.bytes.bytes.count != 32)
            return
        }
        #expect(throws: InvalidPrivateKey.self) { try PrivateKey(bytes) }
    }

    @Test func `generated keys differ and work`() {
        var random = SecureRandom()
        let keys = (0..<3).map { _ in PrivateKey.generate(using: &random) }
        #expect(Set(keys.map(\.publicKey)).count == 3)
        let digest = Keccak.keccak256([1])
        #expect(keys.allSatisfy { $0.sign(digest).isBy($0.publicKey, digest) })
    }

    @Test func `no way of printing a private key or a symmetric key shows a byte of it`() throws {
        let bytes = FixedBytes<32>(repeating: 0xAB)
        for secret: Any in [try PrivateKey(bytes), SymmetricKey(bytes)] {
            var dumped = ""
            dump(secret, to: &dumped)
            for text in [String(describing: secret), String(reflecting: secret), "\(secret)", dumped] {
                #expect(!text.lowercased().contains("abab"))
                #expect(!text.contains("171"))
            }
            #expect(Mirror(reflecting: secret).children.isEmpty)
        }
    }
}
