import StatusCrypto

/// The segments of one message, as far as they are there.
struct SegmentSet {
    enum Addition: Equatable {
        case new
        /// It was there already, under another id.
        case duplicate
        /// It was there already, under this id.
        case known
    }

    private struct Piece {
        var id: Int64
        var payload: [UInt8]
    }

    let startedAt: Timestamp
    private var shape = SegmentShape()
    private var pieces: [Segment.Position: Piece] = [:]
    /// What is held, with what it costs to hold it.
    private(set) var byteCount = SegmentSet.overheadByteCount

    /// Beside the payload: array header, dictionary slot. Measured at up to 145 bytes.
    static let pieceOverheadByteCount = 160
    /// Beside its pieces: entries in the assembler's dictionaries, which grow by doubling. Measured at 1,200 bytes together with
    /// a first piece, where every set has a signer of its own.
    static let overheadByteCount = 1_280

    init(startedAt: Timestamp) {
        self.startedAt = startedAt
    }

    /// The callers' ids of what is held, ascending.
    var ids: [Int64] { pieces.values.map(\.id).sorted() }

    /// Any k segments make the whole, be they data or parity.
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

    /// Puts a complete set together.
    ///
    /// - Returns: nil when that is not what the hash is of.
    func assemble(hash: Digest32) -> [UInt8]? {
        guard let count = shape.dataSegmentCount else { return nil }
        let rebuilt = rebuildMissing(dataSegmentCount: count)
        var whole: [UInt8] = []
        whole.reserveCapacity(count * (shape.segmentByteCount ?? 0))
        for index in 0..<count {
            whole += pieces[.data(index)]?.payload ?? rebuilt[index] ?? []
        }
        if rebuilt[count - 1] != nil {
            // It was padded to be encoded. A message does not end in 0: its last byte is its type (PROTOCOL.md §5.1).
            while whole.last == 0 { whole.removeLast() }
        }
        return Keccak.keccak256(whole) == hash ? whole : nil
    }

    /// The data segments that are not there, by index; those that are stand in for them with their parity.
    private func rebuildMissing(dataSegmentCount: Int) -> [Int: [UInt8]] {
        let missing = (0..<dataSegmentCount).filter { pieces[.data($0)] == nil }
        guard !missing.isEmpty, let segmentByteCount = shape.segmentByteCount else { return [:] }
        var shards: [UInt8: [UInt8]] = [:]
        for (position, piece) in pieces {
            // In range: the shape admits parity only where k + m ≤ 256.
            switch position {
            case .data(let index): shards[UInt8(truncatingIfNeeded: index)] = piece.payload
            case .parity(let index): shards[UInt8(truncatingIfNeeded: dataSegmentCount + index)] = piece.payload
            }
        }
        let code = ReedSolomon(shards: shards, byteCount: segmentByteCount)
        return Dictionary(uniqueKeysWithValues: missing.map { ($0, code.shard(at: UInt8(truncatingIfNeeded: $0))) })
    }
}
