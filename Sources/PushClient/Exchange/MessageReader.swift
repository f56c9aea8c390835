package import Envelope
package import StatusCrypto
import Wire

/// Opens what comes in on a topic: frames, the segments of long messages, and the signed messages inside.
///
/// A value without clock: each envelope is read once, however often a node repeats it.
package struct MessageReader: Sendable {
    /// What the frames are encrypted with.
    package enum Key: Sendable {
        /// They are encrypted to this key.
        case asymmetric(PrivateKey)
        /// They are encrypted with the key of the topic, which is derived for the first of them: that takes 13 ms.
        case topic(TopicName)
    }

    /// Envelopes that are remembered, so that they are read once: more than any answer topic gets while somebody waits on it.
    private static let maximumSeenCount = 10_000

    private let key: Key
    private var topicKey: SymmetricKey?
    private var assembler: SegmentAssembler
    private var seen: Set<Digest32> = []
    private var segmentCount: Int64 = 0

    package init(_ key: Key) {
        self.key = key
        var limits = SegmentAssembler.Limits()
        // A client reads one topic at a time and has not a server's memory: four of the longest messages.
        limits.maximumByteCount = 32 << 20
        limits.maximumSetCount = 256
        assembler = SegmentAssembler(limits: limits)
    }

    /// - Parameter now: when the envelope was received.
    /// - Returns: the message that it holds, or that it completes; nil if it was read before, is encrypted otherwise, is of another
    ///   version, has an unsigned frame, is one of several segments, or is no message.
    package mutating func read(_ envelope: WakuEnvelope, now: Timestamp) -> OpenedMessage? {
        guard isNew(envelope), envelope.message.version == RFC26.messageVersion,
            let frame = try? open(envelope.message.payload),
            // Reference clients drop unsigned frames, so an answer in one would be lost in life (PROTOCOL.md §3).
            frame.signature != nil,
            let data = whole(frame, now: now)
        else { return nil }
        if let message = try? ApplicationMetadata.open(data) { return message }
        // As reference clients send contact codes (PROTOCOL.md §6).
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
