/// The counts and sizes of a set, with which each further segment must agree (PROTOCOL.md §5.1).
struct SegmentShape {
    /// Enough for the longest message, 8 MiB, in segments of 8 KiB. A node with a limit of 150 KiB gets it in 73.
    static let maximumDataSegmentCount = 1_024
    /// By PROTOCOL.md §5.1 this is floor(k / 8) of the largest k with k + floor(k / 8) ≤ 256, which is 228.
    static let maximumParitySegmentCount = 28

    /// Returns how many parity segments go with a number of data segments.
    static func paritySegmentCount(dataSegmentCount: Int) -> Int {
        let count = dataSegmentCount / 8
        return dataSegmentCount + count <= ReedSolomon.maximumShardCount ? count : 0
    }

    /// The number k of data segments, which only data segments state.
    private(set) var dataSegmentCount: Int?
    /// The number m of parity segments, which only parity segments state.
    private var paritySegmentCount: Int?
    /// The payload size of every segment except the last data segment.
    private(set) var segmentByteCount: Int?
    private var lastByteCount: Int?

    /// Adds a segment's counts and sizes, or changes nothing if it is invalid.
    ///
    /// - Parameter maximumMessageByteCount: The maximum length of the whole message.
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
        // The minimum length of the whole message. It cannot overflow: at most 1,024 segments, each with data from a single frame, under 16
        // MiB.
        let last = lastByteCount ?? 1
        let others = ((dataSegmentCount ?? 8 * (paritySegmentCount ?? 0)) - 1) * (segmentByteCount ?? last)
        guard others + last <= maximumMessageByteCount else { throw .messageTooLong }
    }
}
