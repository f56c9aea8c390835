import StatusCrypto
import Wire

/// A piece of a message whose fields are in range, each by itself.
struct Segment {
    enum Position: Hashable {
        case data(Int)
        case parity(Int)
    }

    /// keccak256 of the whole.
    let entireMessageHash: Digest32
    let position: Position
    /// How many segments of its kind, data or parity, the set has.
    let count: Int
    /// Not empty.
    let payload: [UInt8]

    /// - Parameter message: passes for a segment: `SegmentMessage.isSegment`.
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
