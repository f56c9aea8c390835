import Bytes
import StatusCrypto
import Wire

/// A segmenter that cuts a message into segments if it is too long for a single envelope (PROTOCOL.md §5.1).
package struct Segmenter: Sendable {
    /// A Waku node's usual limit, whose operator may have set less.
    package static let usualMaximumMessageByteCount = 1 << 20

    /// The payload size of every data segment except the last, which may be shorter.
    package let segmentByteCount: Int

    /// - Parameter maximumMessageByteCount: The node's maximum message size, at least 4. With the usual 1 MiB a segment's payload is
    ///   786,432 bytes.
    package init(maximumMessageByteCount: Int = usualMaximumMessageByteCount) {
        self.init(segmentByteCount: maximumMessageByteCount / 4 * 3)
    }

    /// - Parameter segmentByteCount: A segment's payload size, at least 1.
    package init(segmentByteCount: Int) {
        precondition(segmentByteCount > 0, "a segment holds something")
        self.segmentByteCount = segmentByteCount
    }

    /// - Parameter message: An encoded `ApplicationMetadataMessage`.
    /// - Returns: The data for each frame: the message itself if it fits, otherwise encoded `SegmentMessage`s, first data in order, then
    ///   parity. The result is the same for the same message.
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
