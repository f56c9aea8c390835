import Foundation
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The "main flow" of the golden vectors 08, decided by the rules alone over dictionaries: replies and gorush bodies as observed of the reference
/// implementation, except where PROTOCOL.md says that we do otherwise.
struct GoldenFlowTests {
    @Test func `the main flow is decided as the reference does`() throws {
        var server = ServerInMemory()
        for (number, step) in try GoldenFile.load().mainFlow.steps.enumerated() {
            try server.receive(step, number: number)
        }
    }

    /// The third notification of "three kinds" has platform 0, which no registration can have; our Firebase has no topic.
    @Test func `status-go bodies are encoded as the reference does`() throws {
        let bodies = try GoldenFile.load().gorushBodies
        let kinds = try #require(bodies.first { $0.name == "three kinds" }).notifications.dropLast()
        let texts = PushTexts()
        try #expect(
            json([
                GorushNotification(
                    tokens: ["a"], platform: .ios, topic: "t", message: texts.message,
                    data: .statusGo(encryptedMessage: "0x03", chatID: "0x01", publicKey: "0x02")),
                GorushNotification(
                    tokens: ["b"], platform: .android, topic: nil, message: texts.mention,
                    data: .statusGo(encryptedMessage: "0x", chatID: "0x01", publicKey: "0x02")),
            ]) == Array(kinds))

        let escaping = try #require(bodies.first { $0.name == "escaping" }).notifications
        try #expect(
            json([
                GorushNotification(
                    tokens: ["<>&\"\\/\u{0}\u{1}\u{8}\u{c}\n\r\t\u{2028}\u{2029}é🙂"], platform: .ios, topic: nil, message: texts.message,
                    data: .statusGo(encryptedMessage: "0x", chatID: "0x", publicKey: "0x"))
            ]) == escaping)
    }
}

private func json(_ notifications: [GorushNotification]) throws -> [GoldenNotification] {
    try JSONDecoder().decode([GoldenNotification].self, from: JSONEncoder().encode(notifications))
}

/// What the store would hold, and the checks of each step.
private struct ServerInMemory {
    var versions: [Installation: StoredVersion] = [:]
    var registrations: [Installation: PushNotificationRegistration] = [:]
    var responses: [HexBytes.Key: PushNotificationResponse] = [:]
    var remembered: Set<Digest32> = []
    /// The only registering key of the flow.
    let keyHash: Digest64
}
