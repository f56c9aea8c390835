import Foundation
import TestSupport

/// What the rules need of golden vectors 08.
struct GoldenFlow: Decodable {
    struct World: Decodable {
        let steps: [Step]
        let serverPublicKey: HexBytes

        private enum CodingKeys: String, CodingKey {
            case steps
            case serverPublicKey = "server_public_key"
        }
    }

    struct Step: Decodable {
        struct Envelope: Decodable {
            let decoded: ApplicationMessage
        }

        struct ApplicationMessage: Decodable {
            let type: Int32
            let payload: HexBytes
            let messageID: HexBytes
            let signer: HexBytes

            private enum CodingKeys: String, CodingKey {
                case type, payload
                case messageID = "message_id"
                case signer = "app_signer_public_key"
            }
        }

        struct Response: Decodable {
            let decoded: ApplicationMessage
        }

        struct Post: Decodable {
            let body: String

            private enum CodingKeys: String, CodingKey {
                case body = "body_text"
            }
        }

        let note: String
        let `in`: Envelope
        /// The plaintext; the payload of the message is encrypted.
        let registration: HexBytes?
        let requestID: HexBytes?
        let responses: [Response]
        let gorush: [Post]?

        private enum CodingKeys: String, CodingKey {
            case note, `in`, responses, gorush
            case registration = "registration_protobuf"
            case requestID = "expected_request_id"
        }
    }

    struct Body: Decodable {
        let name: String
        let body: String
    }

    let mainFlow: World
    let gorushBodies: [Body]

    private enum CodingKeys: String, CodingKey {
        case worlds
        case gorushBodies = "gorush_bodies"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        var worlds = try container.nestedUnkeyedContainer(forKey: .worlds)
        mainFlow = try worlds.decode(World.self)  // the first; the other is about segments
        gorushBodies = try container.decode([Body].self, forKey: .gorushBodies)
    }

    static func load() throws -> GoldenFlow {
        try Vectors.load("08_e2e")
    }
}

/// A notification in a body for gorush, compared as parsed JSON. The reference's empty `topic` counts as none.
struct PostedNotification: Decodable, Equatable {
    let tokens: [String]
    let platform: Int
    let topic: String?
    let message: String
    let data: [String: String]

    private struct Body: Decodable {
        let notifications: [PostedNotification]
    }

    static func parse(_ body: String) throws -> [PostedNotification] {
        try JSONDecoder().decode(Body.self, from: Data(body.utf8)).notifications
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        tokens = try container.decode([String].self, forKey: .tokens)
        platform = try container.decode(Int.self, forKey: .platform)
        let topic = try container.decodeIfPresent(String.self, forKey: .topic)
        self.topic = topic == "" ? nil : topic
        message = try container.decode(String.self, forKey: .message)
        data = try container.decode([String: String].self, forKey: .data)
    }

    private enum CodingKeys: CodingKey {
        case tokens, platform, topic, message, data
    }
}
