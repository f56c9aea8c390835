import Bytes
import Foundation
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The "main flow" of golden vectors 08, decided by the rules alone over dictionaries. Replies and pushes equal those of the reference
/// implementation, except where PROTOCOL.md deviates.
@Suite(.safetyNet) struct GoldenFlowTests {
    @Test func `the main flow has the reference's replies`() throws {
        let world = try GoldenFlow.load().mainFlow
        var server = try ServerInMemory(publicKey: PublicKey(uncompressed: world.serverPublicKey.bytes))

        for (number, step) in world.steps.enumerated() {
            let context: Comment = "\(number): \(step.note)"
            let reference = step.responses.first?.decoded.payload.bytes
            let posted = try step.gorush?.flatMap { try PostedNotification.parse($0.body).map(Push.init) } ?? []

            switch MessageType(rawValue: step.in.decoded.type) {
            case .pushNotificationRegistration:
                #expect(try server.register(step)?.encoded() == reference, context)
            case .pushNotificationQuery:
                // The reference omits its own key.
                var response = try #require(try server.query(step), context)
                for index in response.info.indices {
                    #expect(response.info[index].serverPublicKey == server.publicKey.compressed.bytes, context)
                    response.info[index].serverPublicKey = []
                }
                #expect(response.encoded() == reference, context)
            case .pushNotificationRequest:
                let (response, pushes) = try server.push(step)
                switch number {
                case 7, 8:  // The reference ignores a repeated request
                    #expect(response.encoded() == world.steps[6].responses[0].decoded.payload.bytes, context)
                    #expect(pushes.isEmpty, context)
                case 9:  // The reference repeats the push for another sender
                    #expect(response.encoded() == reference, context)
                    #expect(pushes.isEmpty, context)
                case 10:  // The reference has no report for type 0, and pushes to one target for each of several types
                    var response = response
                    #expect(response.reports.remove(at: 3).error == .unknown, context)
                    #expect(response.encoded() == reference, context)
                    #expect(pushes == Array(posted.prefix(1)), context)
                default:
                    #expect(response.encoded() == reference, context)
                    #expect(pushes == posted, context)
                }
            default:
                Issue.record(context)
            }
        }
        #expect(server.registrations.count == 2)
    }
}

/// The rules with a store in memory.
private struct ServerInMemory {
    let publicKey: PublicKey
    private var versions: [Installation: StoredVersion] = [:]
    private(set) var registrations: [Installation: PushNotificationRegistration] = [:]
    private var responses: [[UInt8]: PushNotificationResponse] = [:]
    private var remembered: Set<Digest32> = []

    init(publicKey: PublicKey) {
        self.publicKey = publicKey
    }

    mutating func register(_ step: GoldenFlow.Step) throws -> PushNotificationRegistrationResponse? {
        let client = try PublicKey(uncompressed: step.in.decoded.signer.bytes)
        let plaintext = try #require(step.registration).bytes
        let message = try PushNotificationRegistration.decode(plaintext)
        let grant = Grant.digest(client: client, server: publicKey, accessToken: message.accessToken)
        let facts = RegistrationInput(
            content: .message(message), grantIsValid: Signature(message.grant)?.isBy(client, grant) ?? false,
            plaintextDigest: SHA256.hash(plaintext))

        let installation = try #require(facts.installation(keyHash: client.hash))
        let decision = RegistrationRules.decide(
            facts, stored: versions[installation],
            key: RegisteringKey(),
            policy: RegistrationPolicy(acceptRetransmission: false))
        switch decision {
        case .register: registrations[installation] = message
        case .unregister: registrations[installation] = nil
        case .discard, .refuse, .limit, .unchanged: break
        }
        if decision == .register || decision == .unregister {
            versions[installation] = StoredVersion(
                version: message.version, plaintextDigest: facts.plaintextDigest, isRegistered: decision == .register)
        }
        return RegistrationRules.response(to: decision, requestID: try #require(step.requestID.flatMap { Digest64($0.bytes) }))
    }

    func query(_ step: GoldenFlow.Step) throws -> PushNotificationQueryResponse? {
        let queryable = Dictionary(grouping: registrations, by: \.key.keyHash).mapValues { $0.map { QueryableRegistration($0.value) } }
        let keys = QueryRules.keys(of: try PushNotificationQuery.decode(step.in.decoded.payload.bytes))
        let answer = QueryRules.answer(on: keys, in: queryable, within: Allowances(), serverPublicKey: publicKey.compressed)
        return QueryRules.response(answer.infos, messageID: try #require(Digest32(step.in.decoded.messageID.bytes)))
    }

    mutating func push(_ step: GoldenFlow.Step) throws -> (PushNotificationResponse, [Push]) {
        let request = try PushNotificationRequest.decode(step.in.decoded.payload.bytes)
        let entries = Set(request.requests.flatMap(\.listEntries))
        let decided = PushRules.decide(
            request, earlier: responses[step.in.decoded.messageID.bytes],
            targets: registrations.mapValues { PushTarget($0, asking: entries) }, recentDeduplicationKeys: remembered)
        let decision = try #require(decided)
        responses[step.in.decoded.messageID.bytes] = decision.response
        remembered.formUnion(decision.pushes.map(\.deduplicationKey))
        return (decision.response, decision.pushes.map(Push.init))
    }
}

/// The common fields of a push and of a notification that the reference posted.
private struct Push: Equatable {
    var tokenType: Int32
    var deviceToken: String
    var apnTopic: String
    var chatID: String
    var message: String
    var keyHash: String

    init(_ push: AcceptedPush) {
        tokenType = push.tokenType.rawValue
        deviceToken = push.deviceToken.text
        apnTopic = push.apnTopic
        chatID = Hex.encode(push.chatID, prefix: "0x")
        message = Hex.encode(push.message, prefix: "0x")
        keyHash = Hex.encode(push.target.keyHash.bytes, prefix: "0x")
    }

    init(_ notification: PostedNotification) {
        tokenType = Int32(notification.platform)
        deviceToken = notification.tokens.joined()
        apnTopic = notification.topic ?? ""
        chatID = notification.data["chatId"] ?? ""
        message = notification.data["encryptedMessage"] ?? ""
        keyHash = notification.data["publicKey"] ?? ""
    }
}
