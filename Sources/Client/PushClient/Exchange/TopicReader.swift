import Bytes
package import Envelope
package import StatusCrypto
import Wire

/// Opens a topic's messages: frames, segments of long messages, and the signed messages inside.
///
/// A value without a clock. Each envelope is read once, however often a node repeats it.
package struct TopicReader: Sendable {
    /// The key that decrypts the frames.
    package enum Key: Sendable {
        /// The recipient's private key.
        case asymmetric(PrivateKey)
        /// The topic's symmetric key. It is derived when the first frame arrives, which takes 18 ms.
        case topic(TopicName)
    }

    /// The number of remembered envelopes, which prevents a second reading: more than any reply topic receives during a wait.
    private static let maximumSeenCount = 10_000

    private let key: Key
    private var topicKey: SymmetricKey?
    private var assembler: SegmentAssembler
    private var seen: Set<Digest32> = []
    private var segmentCount: Int64 = 0

    package init(_ key: Key) {
        self.key = key
        var limits = SegmentAssembler.Limits()
        // Enough for four messages at the maximum length: a client reads its topics in turn and has less memory than a server.
        limits.maximumByteCount = 32 << 20
        limits.maximumSetCount = 256
        assembler = SegmentAssembler(limits: limits)
    }

    /// - Parameter now: The time at which the envelope was received.
    /// - Returns: The message that the envelope contains or completes. Nil if the envelope was read before, is encrypted with another key,
    ///   has an unsupported version or an unsigned frame, or does not complete a message.
    package mutating func read(_ envelope: WakuEnvelope, now: Timestamp) -> OpenedMessage? {
        guard isNew(envelope), envelope.isReadable,
            let frame = try? open(envelope.message.payload),
            // Reference clients drop unsigned frames, so they would never see such a reply (PROTOCOL.md §3).
            frame.signature != nil,
            let data = whole(frame, now: now)
        else { return nil }
        if let message = try? ApplicationMetadata.open(data) { return message }
        // Reference clients send contact codes in this wrapper (PROTOCOL.md §6).
        guard let wrapper = try? ProtocolMessage.decode(data), !wrapper.publicMessage.isEmpty else { return nil }
        return try? ApplicationMetadata.open(wrapper.publicMessage)
    }

    private mutating func isNew(_ envelope: WakuEnvelope) -> Bool {
        if seen.count >= Self.maximumSeenCount { seen = [] }
        return seen.insert(envelope.hash).inserted
    }

    private mutating func open(_ payload: [UInt8]) throws(RFC26.OpenError) -> RFC26.Frame {
        switch key {
        case .asymmetric(let key):
            return try RFC26.openAsymmetric(payload, with: key)
        case .topic(let name):
            let key = topicKey ?? name.deriveSymmetricKey()
            topicKey = key
            return try RFC26.openSymmetric(payload, with: key)
        }
    }

    private mutating func whole(_ frame: RFC26.Frame, now: Timestamp) -> [UInt8]? {
        _ = assembler.expire(now: now)
        segmentCount += 1
        switch assembler.add(frame.data, id: segmentCount, signer: SegmentMessage.isSegment(frame.data) ? frame.signer() : nil, now: now) {
        case .notASegment: return frame.data
        case .complete(let data, _): return data
        case .incomplete, .duplicate, .late, .invalid: return nil
        }
    }
}
