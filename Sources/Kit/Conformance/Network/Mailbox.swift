import Bytes
import Envelope
import StatusCrypto
import Synchronization
import Tasks
import Wire

/// The messages that have arrived for a throw-away key, in the order in which the node returned them.
final class Mailbox: Sendable {
    /// A message that the key could decrypt.
    struct Received: Sendable {
        let envelope: WakuEnvelope
        /// The key that signed the frame, or nil if the frame is unsigned.
        let frameSigner: PublicKey?
        /// The signed message, or nil if the frame holds none that can be read.
        let message: OpenedMessage?
        let arrivedAt: Timestamp
    }

    /// An envelope that the key could decrypt: a reply, or a segment of one.
    struct Arrival: Sendable {
        let envelope: WakuEnvelope
        /// See ``Received/frameSigner``.
        let frameSigner: PublicKey?
        /// The topic on which replies to the key are expected.
        let topic: Topic
    }

    /// The topic that is read. Replies to the key arrive on its partitioned topic (PROTOCOL.md §5.4).
    let topic: Topic
    private let key: PrivateKey
    private let received = Monitor<[Received]>([])
    private let assembly = Mutex((assembler: SegmentAssembler(), lastID: Int64(0)))
    private let requestIDs = Mutex<Set<[UInt8]>>([])

    /// - Parameter topic: The topic. Nil means that of replies to the key.
    init(key: PrivateKey, topic: Topic? = nil) {
        self.key = key
        self.topic = topic ?? TopicName.partitionedTopic(of: key.publicKey)
    }

    /// The number of messages so far: the mark from which ``first(after:where:)`` starts.
    var count: Int { received.read(\.count) }

    /// Remembers a request's id before it is sent.
    ///
    /// - Returns: The ids of the key's earlier requests. Late replies to them are not replies to this request.
    func begin(requestID: [UInt8]) -> Set<[UInt8]> {
        requestIDs.withLock { requestIDs in
            defer { requestIDs.insert(requestID) }
            return requestIDs
        }
    }

    /// Opens an envelope on the topic and keeps its message if it is for the key.
    ///
    /// - Returns: What has arrived, or nil if the envelope is for another key.
    func deliver(_ envelope: WakuEnvelope, now: Timestamp) -> Arrival? {
        guard let frame = try? RFC26.openAsymmetric(envelope.message.payload, with: key) else { return nil }
        let signer = frame.signer()
        let arrival = Arrival(envelope: envelope, frameSigner: signer, topic: topic)
        let data = assembly.withLock { assembly -> [UInt8]? in
            assembly.lastID += 1
            return switch assembly.assembler.add(frame.data, id: assembly.lastID, signer: signer, now: now) {
            case .notASegment: frame.data
            case .complete(let data, _): data
            case .incomplete, .duplicate, .late, .invalid: nil
            }
        }
        guard let data else { return arrival }
        let message = Received(envelope: envelope, frameSigner: signer, message: try? ApplicationMetadata.open(data), arrivedAt: now)
        received.update { $0.append(message) }
        return arrival
    }

    /// Returns the messages up to a mark.
    func messages(until mark: Int) -> ArraySlice<Received> { received.read { $0.prefix(mark) } }

    func messages(after mark: Int) -> ArraySlice<Received> { received.read { $0.dropFirst(mark) } }

    /// Waits for the first matching message after a mark.
    ///
    /// - Returns: The message, or nil if the task was cancelled first.
    func first(after mark: Int, where matches: @escaping @Sendable (Received) -> Bool) async -> Received? {
        await received.wait { $0.dropFirst(mark).first(where: matches) }
    }
}
