import Bytes
import StatusCrypto
import Wire

/// A segment whose fields are each in range.
struct Segment {
    enum Position: Hashable {
        case data(Int)
        case parity(Int)
    }

    /// The whole message's keccak256.
    let entireMessageHash: Digest32
    let position: Position
    /// The number of segments of this kind, data or parity, in the set.
    let count: Int
    /// The payload, not empty.
    let payload: [UInt8]

    /// - Parameter message: A message for which `SegmentMessage.isSegment` holds.
    init(_ message: SegmentMessage) throws(SegmentFault) {
        guard let hash = Digest32(message.entireMessageHash) else { throw .hashByteCount }
        let isData = message.segmentsCount > 0
        let index = isData ? message.index : message.paritySegmentIndex
        let count = isData ? message.segmentsCount : message.paritySegmentsCount
        guard index < count else { throw .indexOutOfRange }
        guard count <= (isData ? SegmentShape.maximumDataSegmentCount : SegmentShape.maximumParitySegmentCount) else {
            throw .tooManySegments
        }
        entireMessageHash = hash
        position = isData ? .data(Int(index)) : .parity(Int(index))
        self.count = Int(count)
        payload = message.payload
    }
}
