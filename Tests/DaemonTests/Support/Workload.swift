import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestSupport
import Wire

/// The messages of clients to the server, and the replies. Each client has some messages without a reply, and writes another one when it
/// gets a reply.
struct Workload {
    enum Content {
        case registration(version: UInt64)
        /// A push request with one notification, identified by its chat.
        case push(chatID: String)
    }

    struct TestMessage {
        let client: Int
        let content: Content
        let envelope: WakuEnvelope
        /// The payloads of its replies. A message that is processed once may have several replies, but all with the same payload.
        var answers: Set<[UInt8]> = []
    }

    /// The number of messages of one client without a reply.
    private static let windowSize = 6

    let clients: [ProtocolClient]
    private(set) var testMessages: [Digest32: TestMessage] = [:]
    private(set) var answerCount = 0
    /// The messages that the node may not have received, and that the clients post again unchanged.
    private var returned: [Digest32] = []
    /// The hashes of all envelopes that were read.
    private var known: Set<Digest32> = []
    /// The messages by the id in their replies.
    private var identifiers: [[UInt8]: Digest32] = [:]
    private var openCounts: [Int]
    private var sequence: UInt64 = 0

    init(server: PublicKey, clientCount: Int) {
        clients = (0..<clientCount).map { _ in ProtocolClient(server: server, clock: .system) }
        openCounts = Array(repeating: 0, count: clientCount)
    }

    // MARK: Writing

    /// Returns the next message to post, or nil if all clients wait for replies.
    mutating func next() throws -> WakuEnvelope? {
        if let envelope = nextReturned() { return envelope }
        guard let client = openCounts.indices.min(by: { openCounts[$0] < openCounts[$1] }), openCounts[client] < Self.windowSize else {
            return nil
        }
        // The reply to a later registration would supersede that of an earlier one.
        return sequence % 4 == 0 && !awaitsRegistration(client) ? try register(client) : try push(from: client)
    }

    /// Whether the next message is new to the server.
    var hasNewMessage: Bool { returned.isEmpty && openCounts.contains { $0 < Self.windowSize } }

    private func awaitsRegistration(_ client: Int) -> Bool {
        testMessages.values.contains { testMessage in
            guard testMessage.client == client, testMessage.answers.isEmpty, case .registration = testMessage.content else { return false }
            return true
        }
    }

    /// Queues a message again, because the node did not confirm it.
    mutating func comesBack(_ envelope: WakuEnvelope) {
        returned.append(envelope.hash)
    }

    /// Returns the next message to post again, or nil if none is queued.
    mutating func nextReturned() -> WakuEnvelope? {
        returned.popLast().flatMap { testMessages[$0]?.envelope }
    }

    mutating func register(_ client: Int) throws -> WakuEnvelope {
        sequence += 1
        let payload = clients[client].encrypted(clients[client].registration(version: sequence))
        return try write(
            payload, .pushNotificationRegistration, topic: .personal(clients[client].server), by: client, .registration(version: sequence),
            identifier: Keccak.shake256(payload).bytes)
    }

    private mutating func push(from client: Int) throws -> WakuEnvelope {
        sequence += 1
        let target = clients[(client + Int(sequence)) % clients.count]
        var notification = clients[client].notification(to: target)
        notification.chatID = Array("chat \(sequence)".utf8)
        let messageID = Array("message \(sequence)".utf8)
        return try write(
            clients[client].request([notification], messageID: messageID).encoded(), .pushNotificationRequest,
            topic: .partitioned(clients[client].server), by: client,
            .push(chatID: Hex.encode(notification.chatID, prefix: "0x")), identifier: messageID)
    }

    private mutating func write(
        _ payload: [UInt8], _ type: MessageType, topic: TopicName, by client: Int, _ content: Content, identifier: [UInt8]
    ) throws -> WakuEnvelope {
        let envelope = try clients[client].toServer(payload, type: type, topic: topic)
        let hash = envelope.hash
        testMessages[hash] = TestMessage(client: client, content: content, envelope: envelope)
        identifiers[identifier] = hash
        openCounts[client] += 1
        return envelope
    }

    // MARK: Reading

    mutating func read(_ envelopes: [WakuEnvelope]) {
        for envelope in envelopes where known.insert(envelope.hash).inserted {
            for client in clients {
                if let message = client.open(envelope) { read(message) }
            }
        }
    }

    private mutating func read(_ message: OpenedMessage) {
        let identifier =
            switch message.type {
            case .pushNotificationResponse: (try? PushNotificationResponse.decode(message.payload))?.messageID
            case .pushNotificationRegistrationResponse: (try? PushNotificationRegistrationResponse.decode(message.payload))?.requestID
            default: nil as [UInt8]?
            }
        guard let hash = identifier.flatMap({ identifiers[$0] }), var testMessage = testMessages[hash] else { return }
        if testMessage.answers.isEmpty {
            answerCount += 1
            openCounts[testMessage.client] -= 1
        }
        testMessage.answers.insert(message.payload)
        testMessages[hash] = testMessage
    }

    /// The chat ids of all requested pushes.
    var chatIDs: Set<String> {
        Set(testMessages.values.compactMap { if case .push(let chatID) = $0.content { chatID } else { nil } })
    }

    /// The time of the oldest message without a reply.
    var oldestUnanswered: Timestamp? {
        testMessages.values.filter(\.answers.isEmpty).compactMap(\.envelope.message.timestamp).min().map(Timestamp.init(nanoseconds:))
    }

    /// The messages without a reply.
    var unanswered: Set<Digest32> { Set(testMessages.filter { $0.value.answers.isEmpty }.keys) }
}
