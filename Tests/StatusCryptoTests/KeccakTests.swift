import Bytes
import StatusCrypto
import TestSupport
import Testing

/// The hashes of golden vectors 01.
@Suite(.safetyNet) struct KeccakTests {
    struct File: Decodable {
        let hashes: [Case]
        let chatIDHashes: [ChatID]

        enum CodingKeys: String, CodingKey {
            case hashes
            case chatIDHashes = "chat_id_hashes"
        }
    }

    struct Case: Decodable, Sendable {
        let input: HexBytes
        let keccak256: HexBytes
        let shake256_64: HexBytes
    }

    struct ChatID: Decodable, Sendable {
        let chat_id: String
        let shake256_64: HexBytes
    }

    @Test(arguments: try Vectors.load("01_hashes_keys", as: File.self).hashes)
    func `digests equal those of the reference at every block edge`(_ vector: Case) {
        #expect(Keccak.keccak256(vector.input.bytes).bytes == vector.keccak256.bytes)
        #expect(Keccak.shake256(vector.input.bytes).bytes == vector.shake256_64.bytes)
    }

    @Test(arguments: try Vectors.load("01_hashes_keys", as: File.self).chatIDHashes)
    func `chat ids hash like the reference's`(_ vector: ChatID) {
        #expect(Keccak.shake256(vector.chat_id.utf8Span.span).bytes == vector.shake256_64.bytes)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 135, 136, 137, 143, 300]) func `input in two parts has the hash of the whole`(split: Int) {
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        var sponge = KeccakSponge.keccak256
        sponge.absorb(Array(bytes[..<split]))
        sponge.absorb(Array(bytes[split...]))
        let digest: Digest32 = sponge.squeeze()
        #expect(digest == Keccak.keccak256(bytes))
    }
}
