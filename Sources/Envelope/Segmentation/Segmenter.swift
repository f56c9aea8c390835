import StatusCrypto
import Wire

/// Cuts a message that is too long for one envelope into segments (PROTOCOL.md §5.1).
package struct Segmenter: Sendable {
    /// What a Waku node usually takes in one message: 1 MiB. Its operator may have set less.
    package static let usualMaximumMessageByteCount = 1 << 20

    /// The payload of every data segment but the last, which is shorter or as long.
    package let segmentByteCount: Int

    /// - Parameter maximumMessageByteCount: what the node takes, at least 4; with the usual 1 MiB a segment's payload is 786,432 bytes.
    package init(maximumMessageByteCount: Int = usualMaximumMessageByteCount) {
        self.init(segmentByteCount: maximumMessageByteCount / 4 * 3)
    }

    /// - Parameter segmentByteCount: at least 1.
    package init(segmentByteCount: Int) {
        precondition(segmentByteCount > 0, "a segment holds something")
        self.segmentByteCount = segmentByteCount
    }

    /// - Parameter message: an encoded `ApplicationMetadataMessage`.
    /// - Returns: the data of one frame each: the message itself when it fits, otherwise encoded `SegmentMessage`s, first data in order,
    ///   then parity. Always the same for the same message.
    package func segment(_ message: [UInt8]) -> [[UInt8]] {
        guard message.count > segmentByteCount else { return [message] }
        let data = stride(from: 0, to: message.count, by: segmentByteCount).map { start in
            Array(message[start..<min(start + segmentByteCount, message.count)])
        }
        let parity = parity(of: data)
        var segment = SegmentMessage()
        segment.entireMessageHash = Keccak.keccak256(message).bytes
        var segments: [[UInt8]] = []
        for (index, payload) in data.enumerated() {
            segment.index = UInt32(index)
            segment.segmentsCount = UInt32(data.count)
            segment.payload = payload
            segments.append(segment.encoded())
        }
        segment.index = 0
        segment.segmentsCount = 0
        for (index, payload) in parity.enumerated() {
            segment.paritySegmentIndex = UInt32(index)
            segment.paritySegmentsCount = UInt32(parity.count)
            segment.payload = payload
            segments.append(segment.encoded())
        }
        return segments
    }

    private func parity(of data: [[UInt8]]) -> [[UInt8]] {
        let count = SegmentShape.paritySegmentCount(dataSegmentCount: data.count)
        guard count > 0 else { return [] }
        let shards = Dictionary(uniqueKeysWithValues: data.enumerated().map { (UInt8($0.offset), $0.element) })
        let code = ReedSolomon(shards: shards, byteCount: segmentByteCount)
        return (data.count..<data.count + count).map { code.shard(at: UInt8($0)) }
    }
}
