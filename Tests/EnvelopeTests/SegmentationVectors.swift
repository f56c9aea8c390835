import TestSupport
import Testing

/// The messages and segments of golden vectors 09.
struct SegmentationVectors: Decodable {
    struct Cut: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let payload: HexBytes
        let segmentByteCount: Int
        let segments: [Piece]

        var testDescription: String { name }

        private enum CodingKeys: String, CodingKey {
            case name, payload, segments
            case segmentByteCount = "segment_size"
        }
    }

    struct Piece: Decodable, Sendable {
        let raw: HexBytes
    }

    struct Feeding: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [Step]

        var testDescription: String { name }
    }

    struct Step: Decodable, Sendable {
        let segment: HexBytes
        let signer: String
        let isDelivered: Bool
        let error: String?
        let applicationPayload: HexBytes?
        let messageID: HexBytes?

        private enum CodingKeys: String, CodingKey {
            case segment, error
            case signer = "transport_signer"
            case isDelivered = "delivered"
            case applicationPayload = "application_payload"
            case messageID = "message_id"
        }
    }

    let cuts: [Cut]
    let feedings: [Feeding]

    private enum CodingKeys: String, CodingKey {
        case cuts = "segment"
        case feedings = "reassembly"
    }

    static func load() throws -> SegmentationVectors { try Vectors.load("09_segmentation") }
}
