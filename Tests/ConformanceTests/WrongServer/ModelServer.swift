import Bytes
import Envelope
import HTTPClient
import JSON
import PushProtocol
import StatusCrypto
import Synchronization
import Tasks
import TestServers
import TestSupport
import Transport
import Wire

/// A server of RFC 71 in memory, with the daemon's rules (`PushProtocol`). A mutant can replace each of its steps.
///
/// The server handles one message after another, in their order, and posts to gorush before it replies.
final class ModelServer: BusListener {
    struct State {
        var seen: Set<Digest32> = []
        var assembler = SegmentAssembler()
        var wrongAssembler: WrongAssembler?
        var segmentCount: Int64 = 0
        var queryTopics: [Topic: [(name: TopicName, form: TopicName.QueryForm)]] = [:]
        var topicKeys: [TopicName: SymmetricKey] = [:]
        var registrations: [Installation: PushNotificationRegistration] = [:]
        var versions: [Installation: StoredVersion] = [:]
        var registrationCount: Int64 = 0
        /// The order of the registrations.
        var registeredAt: [Installation: Timestamp] = [:]
        var answeredQueries: [[UInt8]: Timestamp] = [:]
        var responses: [[UInt8]: PushNotificationResponse] = [:]
        var pushed: Set<[UInt8]> = []
        /// The hashes of keys whose queries are not read.
        var unheard: Set<Digest64> = []
        var isStunned = false
        var buckets: CreditBuckets<Installation>?
        var waiting: [PushSlot: AcceptedPush] = [:]
    }

    let key: PrivateKey
    let behaviour: Behaviour
    private let gorushURL: String
    private let clock: any Clock<Duration>
    let wallClock: WallClock
    private let http = HTTPClient()
    private let state: Mutex<State>
    private let (envelopes, continuation) = AsyncStream.makeStream(of: WakuEnvelope.self)

    init(_ behaviour: Behaviour, gorushURL: String, clock: any Clock<Duration>, wallClock: WallClock) {
        self.clock = clock
        self.wallClock = wallClock
        var random = SecureRandom()
        key = PrivateKey.generate(using: &random)
        self.behaviour = behaviour
        self.gorushURL = gorushURL
        var state = State()
        state.buckets = behaviour.buckets
        if case .wrong(let fault) = behaviour.assembly { state.wrongAssembler = WrongAssembler(fault) }
        self.state = Mutex(state)
    }

    func receive(_ envelope: WakuEnvelope) { continuation.yield(envelope) }

    /// Restarts the server, which keeps what its behaviour keeps.
    func restart() { state.withLock { behaviour.keepsAtRestart(&$0) } }

    /// Handles received messages until the task is cancelled.
    func run(on membership: BusMembership) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await envelope in envelopes {
                guard let request = open(envelope) else { continue }
                let outcome = state.withLock { handle(request, &$0) }
                if !outcome.notifications.isEmpty {
                    try await post(outcome.notifications)
                    if let time = behaviour.repeatsNotifications {
                        group.addTask { [self] in if await time.wait(until: \.self) { try await post(outcome.notifications) } }
                    }
                }
                for (slot, duration) in outcome.waits {
                    group.addTask { [self] in
                        try await clock.sleep(for: duration)
                        let notifications = state.withLock { resume(slot, &$0) }
                        if !notifications.isEmpty { try await post(notifications) }
                    }
                }
                for reply in outcome.replies {
                    guard let delay = behaviour.delays(reply) else { continue }
                    guard delay > .zero else {
                        try await publish(reply, to: request, in: envelope, on: membership)
                        continue
                    }
                    group.addTask { [self] in
                        try await clock.sleep(for: delay)
                        try await publish(reply, to: request, in: envelope, on: membership)
                    }
                }
            }
        }
    }

    private func publish(_ reply: Reply, to request: Request, in envelope: WakuEnvelope, on membership: BusMembership) async throws {
        for var message in try seal(reply, to: request.recipient ?? request.sender) {
            message.timestamp = message.timestamp.map { behaviour.stamps($0, envelope.message.timestamp) }
            try await membership.publish(WakuEnvelope(pubsubTopic: behaviour.repliesOn(envelope.pubsubTopic), message: message))
        }
    }

    // MARK: Envelopes

    private func open(_ envelope: WakuEnvelope) -> Request? {
        state.withLock { state in
            guard state.seen.insert(envelope.hash).inserted || behaviour.handlesCopies, behaviour.takes(envelope),
                let topic = Topic(contentTopic: envelope.message.contentTopic),
                let (frame, source) = decrypt(envelope.message.payload, on: topic, &state), reads(source, on: envelope.pubsubTopic),
                let data = assemble(frame, from: source, &state),
                var request = behaviour.identifies(OpenFrame(data: data, signer: frame.signer), source)
            else { return nil }
            request.sentAt = envelope.message.timestamp.map(Timestamp.init)
            behaviour.changes(&request)
            return behaviour.handles(request, key) ? request : nil
        }
    }

    private func reads(_ source: Source, on pubsubTopic: String) -> Bool {
        if case .query = source, pubsubTopic != TestNode.topic, !behaviour.readsQueriesOnEachShard { return false }
        return behaviour.listens(source)
    }

    private func decrypt(_ payload: [UInt8], on topic: Topic, _ state: inout State) -> (OpenFrame, Source)? {
        for (name, source) in [(TopicName.personal(key.publicKey), Source.personal), (.partitioned(key.publicKey), .partitioned)]
        where name.topic == topic {
            if let frame = behaviour.opens(payload, self.key) { return (frame, source) }
            if behaviour.isStunned == .undecryptablePayload { state.isStunned = true }
        }
        for (name, form) in state.queryTopics[topic, default: []] {
            let key = state.topicKeys[name] ?? name.deriveSymmetricKey()
            state.topicKeys[name] = key
            if behaviour.uses(key), let frame = try? RFC26.openSymmetric(payload, with: key) {
                return (OpenFrame(data: frame.data, signer: frame.signer()), .query(form))
            }
        }
        return nil
    }

    private func assemble(_ frame: OpenFrame, from source: Source, _ state: inout State) -> [UInt8]? {
        switch behaviour.assembly {
        case .passing: return frame.data
        case .none: return SegmentMessage.isSegment(frame.data) ? nil : frame.data
        case .wrong: return state.wrongAssembler?.add(frame, from: source)
        case .right:
            state.segmentCount += 1
            let now = Timestamp(nanoseconds: state.segmentCount)
            switch state.assembler.add(frame.data, id: state.segmentCount, signer: frame.signer, now: now) {
            case .notASegment: return frame.data
            case .complete(let data, _): return data
            default: return nil
            }
        }
    }

    // MARK: Replies

    /// Returns a message, or several if the reply is long.
    private func seal(_ reply: Reply, to recipient: PublicKey) throws -> [WakuMessage] {
        var random = SecureRandom()
        let data = ApplicationMetadata.seal(reply.payload, type: reply.type, signer: behaviour.signer(reply.type) ?? key)
        return try (behaviour.segmentsReplies ? Segmenter().segment(data) : [data]).map { segment in
            var message = WakuMessage()
            message.payload =
                behaviour.padsFrames
                ? try RFC26.sealAsymmetric(segment, to: recipient, signer: behaviour.signsFrames ? key : nil, using: &random)
                : ECIES.seal(unpaddedFrame(segment).span, to: recipient, using: &random)
            message.contentTopic = TopicName.partitioned(recipient).topic.contentTopic
            message.version = RFC26.messageVersion
            message.timestamp = wallClock.now().nanoseconds
            behaviour.envelops(&message, reply)
            return message
        }
    }

    /// A signed frame with the least padding.
    private func unpaddedFrame(_ data: [UInt8]) -> [UInt8] {
        let body = [7, UInt8(data.count & 0xFF), UInt8(data.count >> 8 & 0xFF), UInt8(data.count >> 16)] + data + [0]
        return body + key.sign(Keccak.keccak256(body)).bytes.bytes
    }

    /// Posts a batch in gorush's format.
    private func post(_ notifications: [[String: JSON]]) async throws {
        let body = JSON.object(["notifications": .list(notifications.map(JSON.object))]).bytes
        _ = try await http.send(
            HTTPRequest(
                method: .post, url: gorushURL + "/api/push", headers: [("Content-Type", "application/json")], body: body,
                timeout: TestNode.patience, maximumResponseBodyByteCount: 1 << 20))
    }
}

/// A reply before its signature.
struct Reply: Sendable {
    var type: MessageType
    var payload: [UInt8]
}

/// The consequences of a request.
struct Outcome: Sendable {
    var replies: [Reply] = []
    var notifications: [[String: JSON]] = []
    /// Pushes that wait, and how long.
    var waits: [(slot: PushSlot, duration: Duration)] = []

    static let nothing = Outcome()

    static func reply(_ type: MessageType, _ message: some WireMessage) -> Outcome {
        Outcome(replies: [Reply(type: type, payload: message.encoded())])
    }
}
