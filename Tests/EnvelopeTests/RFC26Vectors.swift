import StatusCrypto
import TestSupport
import Testing

/// The payloads of golden vectors 07.
struct RFC26Vectors: Decodable {
    let encoded: [Valid]
    let malformed: [Given]

    static func load() throws -> RFC26Vectors { try Vectors.load("07_waku_v1_payload") }

    enum Kind: String, Decodable, Sendable {
        case asymmetric
        case symmetric
    }

    /// A payload that the reference wrote and read.
    struct Valid: Decodable, Sendable, CustomTestStringConvertible {
        let kind: Kind
        let signed: Bool
        let dataByteCount: Int
        let encoded: HexBytes
        let encodedByteCount: Int
        let expect: Expectation
        let frameHead: HexBytes?
        let frameByteCount: Int?
        let nonce: HexBytes?
        let signerPrivateKey: HexBytes?
        let recipientPrivateKey: HexBytes?
        let symmetricKey: HexBytes?
        let topicName: String?
        let breakdown: Breakdown?

        enum CodingKeys: String, CodingKey {
            case kind, signed, encoded, expect, breakdown
            case dataByteCount = "data_length"
            case encodedByteCount = "encoded_length"
            case frameHead = "frame_head"
            case frameByteCount = "frame_length"
            case nonce = "nonce_last_12"
            case signerPrivateKey = "signer_private_key"
            case recipientPrivateKey = "recipient_private_key"
            case symmetricKey = "sym_key"
            case topicName = "topic_name"
        }

        /// The content, in which byte i is i mod 256. The file describes long contents without their bytes.
        var data: [UInt8] { (0..<dataByteCount).map { UInt8(truncatingIfNeeded: $0) } }

        var testDescription: String { "\(kind), \(signed ? "signed" : "unsigned"), \(dataByteCount) bytes" }
    }

    /// The reference's result for invented bytes.
    struct Given: Decodable, Sendable, CustomTestStringConvertible {
        let kind: Kind
        let name: String
        let encoded: HexBytes
        let expect: Expectation
        let recipientPrivateKey: HexBytes?
        let symmetricKey: HexBytes?

        enum CodingKeys: String, CodingKey {
            case kind, name, encoded, expect
            case recipientPrivateKey = "recipient_private_key"
            case symmetricKey = "sym_key"
        }

        var testDescription: String { "\(kind), \(name)" }
    }

    struct Expectation: Decodable, Sendable {
        /// The error. With an error, the other values are nil.
        let error: String?
        /// The data in hex, or a description in words.
        let data: String?
        let padding_length: Int?
        let public_key: HexBytes?
        let signature: HexBytes?
    }

    /// The steps of ECIES.
    struct Breakdown: Decodable, Sendable {
        let aes128_key: HexBytes
        let ciphertext: HexBytes
        let ephemeral_public_key: HexBytes
        let frame: HexBytes
        let iv: HexBytes
        let kdf_32: HexBytes
        let mac: HexBytes
        let mac_key_sha256_of_second_half: HexBytes
        let z: HexBytes
    }
}
