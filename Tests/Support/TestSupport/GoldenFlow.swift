package import Envelope
import Foundation
import Wire

/// The worlds of golden vectors 08: the messages that the reference server received, its replies, and its posts to gorush.
package struct GoldenFlow: Decodable {
    package struct World<Step: Decodable>: Decodable {
        package let steps: [Step]
        package let serverPublicKey: HexBytes
        package let serverPrivateKey: HexBytes

        private enum CodingKeys: String, CodingKey {
            case steps
            case serverPrivateKey = "server_private_key"
            case serverPublicKey = "server_public_key"
        }
    }

    package struct Step: Decodable {
        package struct Envelope: Decodable {
            package let decoded: ApplicationMessage
            package let wakuEnvelope: WakuEnvelope

            private enum CodingKeys: CodingKey {
                case decoded
            }

            package init(from decoder: any Decoder) throws {
                decoded = try decoder.container(keyedBy: CodingKeys.self).decode(ApplicationMessage.self, forKey: .decoded)
                wakuEnvelope = try SentEnvelope(from: decoder).wakuEnvelope
            }
        }

        package struct ApplicationMessage: Decodable {
            package let type: Int32
            package let payload: HexBytes
            package let messageID: HexBytes
            package let signer: HexBytes
            /// The ApplicationMetadataMessage with its signature.
            package let applicationMetadata: HexBytes

            private enum CodingKeys: String, CodingKey {
                case type, payload
                case messageID = "message_id"
                case signer = "app_signer_public_key"
                case applicationMetadata = "application_metadata"
            }
        }

        package struct Response: Decodable {
            package let decoded: ApplicationMessage
            package let contentTopic: String
            /// The name of the key that can open the reply.
            package let encryptedTo: String

            private enum CodingKeys: String, CodingKey {
                case decoded, contentTopic
                case encryptedTo = "encrypted_to"
            }
        }

        package struct Post: Decodable {
            package let body: String

            private enum CodingKeys: String, CodingKey {
                case body = "body_text"
            }
        }

        package let note: String
        package let `in`: Envelope
        /// The plaintext of the registration. The payload of the message is encrypted.
        package let registration: HexBytes?
        package let requestID: HexBytes?
        package let responses: [Response]
        package let gorush: [Post]?

        private enum CodingKeys: String, CodingKey {
            case note, `in`, responses, gorush
            case registration = "registration_protobuf"
            case requestID = "expected_request_id"
        }
    }

    /// An envelope as the network carried it.
    package struct SentEnvelope: Decodable {
        package let wakuEnvelope: WakuEnvelope

        private enum CodingKeys: CodingKey {
            case pubsubTopic, contentTopic, version, timestamp, payload
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            var message = WakuMessage()
            message.payload = try container.decode(Base64Bytes.self, forKey: .payload).bytes
            message.contentTopic = try container.decode(String.self, forKey: .contentTopic)
            message.version = try container.decode(UInt32.self, forKey: .version)
            message.timestamp = try container.decode(Int64.self, forKey: .timestamp)
            wakuEnvelope = WakuEnvelope(pubsubTopic: try container.decode(String.self, forKey: .pubsubTopic), message: message)
        }
    }

    /// Most of its envelopes hold one segment, so they have no decoded content.
    package struct SegmentStep: Decodable {
        package let note: String
        package let `in`: SentEnvelope
        package let responses: [Step.Response]

        private enum CodingKeys: CodingKey {
            case note, `in`, responses
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            note = try container.decode(String.self, forKey: .note)
            `in` = try container.decode(SentEnvelope.self, forKey: .in)
            responses = try container.decodeIfPresent([Step.Response].self, forKey: .responses) ?? []
        }
    }

    package struct Body: Decodable {
        package let name: String
        package let body: String
    }

    package struct Key: Decodable {
        package let name: String
        package let privateKey: HexBytes

        private enum CodingKeys: String, CodingKey {
            case name
            case privateKey = "private_key"
        }
    }

    package let keys: [Key]
    package let mainFlow: World<Step>
    package let segmentedRegistration: World<SegmentStep>
    package let gorushBodies: [Body]

    private enum CodingKeys: String, CodingKey {
        case keys, worlds
        case gorushBodies = "gorush_bodies"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        keys = try container.decode([Key].self, forKey: .keys)
        var worlds = try container.nestedUnkeyedContainer(forKey: .worlds)
        mainFlow = try worlds.decode(World<Step>.self)
        segmentedRegistration = try worlds.decode(World<SegmentStep>.self)
        gorushBodies = try container.decode([Body].self, forKey: .gorushBodies)
    }

    package static func load() throws -> GoldenFlow {
        try Vectors.load("08_e2e")
    }
}

/// A notification in a body for gorush, compared as parsed JSON. The reference's empty `topic` reads as nil.
package struct PostedNotification: Decodable, Equatable, Sendable {
    package let tokens: [String]
    package let platform: Int
    package let topic: String?
    package let message: String
    package let data: [String: String]

    private struct Body: Decodable {
        let notifications: [PostedNotification]
    }

    package static func parse(_ body: String) throws -> [PostedNotification] {
        try JSONDecoder().decode(Body.self, from: Data(body.utf8)).notifications
    }

    package init(from decoder: any Decoder) throws {
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
