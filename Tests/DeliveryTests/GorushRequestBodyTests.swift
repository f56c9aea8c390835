import Foundation
import PushProtocol
import TestSupport
import Testing

@testable import Delivery

/// The JSON that is posted (PROTOCOL.md §10).
@Suite struct GorushRequestBodyTests {
    @Test("The body of RFC 71")
    func rfc71() throws {
        let notification = GorushNotification(
            tokens: ["a", "b"], platform: .ios, topic: "im.status.ethereum", message: "You have a new message",
            data: .rfc71(chatID: "0x01", message: "0x02", installationIDs: ["i", "j"]))
        let body = try GorushRequestBody.encode([IdentifiedNotification(identifier: "n", notification: notification)])
        #expect(
            String(decoding: body, as: UTF8.self) == #"""
                {"notifications":[{"data":{"chat_id":"0x01","installation_ids":["i","j"],"message":"0x02"},\#
                "message":"You have a new message","notif_id":"n","platform":1,"tokens":["a","b"],"topic":"im.status.ethereum"}]}
                """#)
    }

    /// `gorush_bodies` of the vectors: what the reference posted.
    private struct File: Decodable {
        struct Body: Decodable {
            let body: String
        }
        let gorush_bodies: [Body]
    }

    private struct Batch: Decodable {
        struct Element: Decodable {
            struct Content: Decodable {
                let encryptedMessage, chatId, publicKey: String
            }
            let tokens: [String]
            let platform: Int
            let message: String
            let topic: String
            let data: Content
        }
        let notifications: [Element]
    }

    @Test("The bodies of the reference, but for empty topics and for identifiers")
    func vectors() throws {
        let bodies = try Vectors.load("08_e2e", as: File.self).gorush_bodies
        #expect(!bodies.isEmpty)
        for body in bodies {
            // A platform that gorush drops is one that we never send.
            let elements = try JSONDecoder().decode(Batch.self, from: Data(body.body.utf8)).notifications.filter { $0.platform != 0 }
            let posted = try GorushRequestBody.encode(
                elements.map { element in
                    IdentifiedNotification(
                        identifier: "n",
                        notification: GorushNotification(
                            tokens: element.tokens, platform: try #require(.init(rawValue: element.platform)),
                            topic: element.topic.isEmpty ? nil : element.topic, message: element.message,
                            data: .statusGo(
                                encryptedMessage: element.data.encryptedMessage, chatID: element.data.chatId,
                                publicKey: element.data.publicKey)))
                })
            #expect(try withoutIdentifiers(posted) == withoutEmptyTopics(Array(body.body.utf8)))
        }
    }

    private func notifications(_ body: [UInt8]) throws -> [[String: JSONValue]] {
        try JSONDecoder().decode([String: [[String: JSONValue]]].self, from: Data(body))["notifications"] ?? []
    }

    private func withoutIdentifiers(_ body: [UInt8]) throws -> [[String: JSONValue]] {
        try notifications(body).map { $0.filter { $0.key != "notif_id" } }
    }

    private func withoutEmptyTopics(_ body: [UInt8]) throws -> [[String: JSONValue]] {
        try notifications(body).filter { $0["platform"] != .number(0) }.map { $0.filter { $0.key != "topic" || $0.value != "" } }
    }
}
