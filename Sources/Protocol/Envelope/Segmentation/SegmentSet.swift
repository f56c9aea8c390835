import Bytes
import StatusCrypto

/// A message's received segments.
struct SegmentSet {
    enum Addition: Equatable {
        case new
        /// The segment is already held under another id.
        case duplicate
        /// The segment is already held under this id.
        case known
    }

    private struct Piece {
        var id: Int64
        var payload: [UInt8]
    }

    var startedAt: Timestamp
    private var shape = SegmentShape()
    private var pieces: [Segment.Position: Piece] = [:]
    /// The set's bytes, overhead included.
    private(set) var byteCount = SegmentSet.overheadByteCount

    /// The overhead per segment: array header, dictionary slot. Measured at up to 145 bytes.
    static let pieceOverheadByteCount = 160
    /// The overhead per set: entries in the assembler's dictionaries, which grow by doubling. Measured at 1,200 bytes including a first
    /// segment, with a separate signer for each set.
    static let overheadByteCount = 1_280

    init(startedAt: Timestamp) {
        self.startedAt = startedAt
    }

    /// The ids of the held segments, ascending.
    var ids: [Int64] { pieces.values.map(\.id).sorted() }

    /// Whether the set is complete: any k segments suffice, data or parity.
    var isComplete: Bool { shape.dataSegmentCount == pieces.count }

    mutating func add(_ segment: Segment, id: Int64, maximumMessageByteCount: Int) throws(SegmentFault) -> Addition {
        try shape.admit(segment, maximumMessageByteCount: maximumMessageByteCount)
        if let piece = pieces[segment.position] {
            guard piece.payload == segment.payload else { throw .contradiction }
            return piece.id == id ? .known : .duplicate
        }
        pieces[segment.position] = Piece(id: id, payload: segment.payload)
        byteCount += Self.pieceOverheadByteCount + segment.payload.count
        return .new
    }

    /// Assembles a complete set.
    ///
    /// - Returns: The message, or nil if its hash differs.
    func assemble(hash: Digest32) -> [UInt8]? {
        guard let count = shape.dataSegmentCount else { return nil }
        let rebuilt = rebuildMissing(dataSegmentCount: count)
        var whole: [UInt8] = []
        whole.reserveCapacity(count * (shape.segmentByteCount ?? 0))
        for index in 0..<count {
            whole += pieces[.data(index)]?.payload ?? rebuilt[index] ?? []
        }
        if rebuilt[count - 1] != nil {
            // The last data segment was padded to be encoded. A message does not end in 0: its last byte is its type (PROTOCOL.md §5.1).
            while whole.last == 0 { whole.removeLast() }
        }
        return Keccak.keccak256(whole) == hash ? whole : nil
    }

    /// Rebuilds the missing data segments, by index, from the received segments, data and parity.
    private func rebuildMissing(dataSegmentCount: Int) -> [Int: [UInt8]] {
        let missing = (0..<dataSegmentCount).filter { pieces[.data($0)] == nil }
        guard !missing.isEmpty, let segmentByteCount = shape.segmentByteCount else { return [:] }
        var shards: [UInt8: [UInt8]] = [:]
        for (position, piece) in pieces {
            // The position is in range: the shape admits parity only if k + m ≤ 256.
            switch position {
            case .data(let index): shards[UInt8(truncatingIfNeeded: index)] = piece.payload
            case .parity(let index): shards[UInt8(truncatingIfNeeded: dataSegmentCount + index)] = piece.payload
            }
        }
        let code = ReedSolomon(shards: shards, byteCount: segmentByteCount)
        return Dictionary(uniqueKeysWithValues: missing.map { ($0, code.shard(at: UInt8(truncatingIfNeeded: $0))) })
    }
}
