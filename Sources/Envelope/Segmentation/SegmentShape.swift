/// What is known of a set of segments: the counts and sizes to which each further segment must agree (PROTOCOL.md §5.1).
struct SegmentShape {
    /// 8 MiB, the longest message that is taken, in pieces of 8 KiB. A node that takes only 150 KiB a message gets it in 73.
    static let maximumDataSegmentCount = 1_024
    /// What PROTOCOL.md §5.1 comes to: floor(k / 8) of the largest k for which k + floor(k / 8) ≤ 256, which is 228.
    static let maximumParitySegmentCount = 28

    /// How many parity segments so many data segments have.
    static func paritySegmentCount(dataSegmentCount: Int) -> Int {
        let count = dataSegmentCount / 8
        return dataSegmentCount + count <= ReedSolomon.maximumShardCount ? count : 0
    }

    /// k. Only a data segment tells.
    private(set) var dataSegmentCount: Int?
    /// m. Only a parity segment tells.
    private var paritySegmentCount: Int?
    /// The payload of every segment but the last of data.
    private(set) var segmentByteCount: Int?
    private var lastByteCount: Int?

    /// Takes in what a segment says, or leaves all as it was.
    ///
    /// - Parameter maximumMessageByteCount: of the whole.
    mutating func admit(_ segment: Segment, maximumMessageByteCount: Int) throws(SegmentFault) {
        var shape = self
        switch segment.position {
        case .data(let index):
            try Self.agree(&shape.dataSegmentCount, segment.count)
            if index == segment.count - 1 {
                try Self.agree(&shape.lastByteCount, segment.payload.count)
            } else {
                try Self.agree(&shape.segmentByteCount, segment.payload.count)
            }
        case .parity:
            try Self.agree(&shape.paritySegmentCount, segment.count)
            try Self.agree(&shape.segmentByteCount, segment.payload.count)
        }
        try shape.check(maximumMessageByteCount: maximumMessageByteCount)
        self = shape
    }

    private static func agree(_ known: inout Int?, _ claimed: Int) throws(SegmentFault) {
        guard known == nil || known == claimed else { throw .contradiction }
        known = claimed
    }

    private func check(maximumMessageByteCount: Int) throws(SegmentFault) {
        if let dataSegmentCount, let paritySegmentCount,
            paritySegmentCount != Self.paritySegmentCount(dataSegmentCount: dataSegmentCount)
        {
            throw .contradiction
        }
        if let segmentByteCount, let lastByteCount, lastByteCount > segmentByteCount {
            throw .contradiction
        }
        // The least that the whole can come to. No overflow: at most 1,024 segments of what was in one frame, under 16 MiB.
        let last = lastByteCount ?? 1
        let others = ((dataSegmentCount ?? 8 * (paritySegmentCount ?? 0)) - 1) * (segmentByteCount ?? last)
        guard others + last <= maximumMessageByteCount else { throw .messageTooLong }
    }
}
