import Envelope
import Foundation
import StatusCrypto
import TestSupport
import Wire

/// What clients wrote to the server, and what they were answered. Each has some letters under way and writes another one when it is
/// answered.
struct Correspondence {
    enum Content {
        case registration(version: UInt64)
        /// A push request with one notification, named by its chat.
        case push(chatID: String)
    }

    struct Letter {
        let client: Int
        let content: Content
        let envelope: WakuEnvelope
        /// Payloads. A letter that is processed once may be answered twice, but not differently.
        var answers: Set<[UInt8]> = []
    }

    /// Unanswered letters of one client.
    private static let windowSize = 6

    let clients: [ProtocolClient]
    private(set) var letters: [Digest32: Letter] = [:]
    private(set) var answerCount = 0
    /// Letters that the node may not have got: they are posted again as they are.
    private var returned: [Digest32] = []
    /// Hashes of all envelopes that were read.
    private var known: Set<Digest32> = []
    /// Letters by the id that is in the answer.
    private var identifiers: [[UInt8]: Digest32] = [:]
    private var openCounts: [Int]
    private var sequence: UInt64 = 0

    init(server: PublicKey, clientCount: Int) {
        clients = (0..<clientCount).map { _ in ProtocolClient(server: server, clock: .system) }
        openCounts = Array(repeating: 0, count: clientCount)
    }

    // MARK: Writing

    /// The next one to post; nil if everybody waits for answers.
    mutating func next() throws -> WakuEnvelope? {
        if let envelope = nextReturned() { return envelope }
        guard let client = openCounts.indices.min(by: { openCounts[$0] < openCounts[$1] }), openCounts[client] < Self.windowSize else {
            return nil
        }
        // The answer to a registration that follows would stand in the place of the one before.
        return sequence % 4 == 0 && !awaitsRegistration(client) ? try register(client) : try push(from: client)
    }

    /// Whether the next one is new to the server.
    var hasNewLetter: Bool { returned.isEmpty && openCounts.contains { $0 < Self.windowSize } }

    private func awaitsRegistration(_ client: Int) -> Bool {
        letters.values.contains { letter in
            guard letter.client == client, letter.answers.isEmpty, case .registration = letter.content else { return false }
            return true
        }
    }

    /// The node did not say that it has it.
    mutating func comesBack(_ envelope: WakuEnvelope) {
        returned.append(envelope.hash)
    }

    /// The next one to post again, if there is one.
    mutating func nextReturned() -> WakuEnvelope? {
        returned.popLast().flatMap { letters[$0]?.envelope }
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
        letters[hash] = Letter(client: client, content: content, envelope: envelope)
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
        guard let hash = identifier.flatMap({ identifiers[$0] }), var letter = letters[hash] else { return }
        if letter.answers.isEmpty {
            answerCount += 1
            openCounts[letter.client] -= 1
        }
        letter.answers.insert(message.payload)
        letters[hash] = letter
    }

    /// Chat ids of all pushes that were asked for.
    var chatIDs: Set<String> {
        Set(letters.values.compactMap { if case .push(let chatID) = $0.content { chatID } else { nil } })
    }

    /// When the first of the letters without an answer was written.
    var oldestUnanswered: Timestamp? {
        letters.values.filter(\.answers.isEmpty).compactMap(\.envelope.message.timestamp).min().map(Timestamp.init(nanoseconds:))
    }

    /// Letters without an answer.
    var unanswered: Set<Digest32> { Set(letters.filter { $0.value.answers.isEmpty }.keys) }
}
