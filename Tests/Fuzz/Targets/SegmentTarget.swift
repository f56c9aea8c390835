import Bytes
import Envelope
import StatusCrypto
import Wire

extension FuzzTarget {
    /// The assembler as a state machine. The input is a sequence of segments, some of them corrupted, with time between them. The
    /// assembler returns each id once, and is empty after all segments have aged.
    static let segments = FuzzTarget(name: "segments", vectors: ["09_segmentation"]) { input throws(Violation) in
        var limits = SegmentAssembler.Limits()
        // The limits are small, so that short inputs reach them.
        limits.maximumByteCount = 16 << 10
        limits.maximumSignerByteCount = 8 << 10
        limits.maximumMessageByteCount = 4 << 10
        limits.maximumSetCount = 8
        limits.maximumSignerSetCount = 4
        limits.maximumCompletedSetCount = 4
        var assembler = SegmentAssembler(limits: limits)
        let pool = segmentPool
        var now = Timestamp(nanoseconds: 1)
        var held: Set<Int64> = []
        var nextID: Int64 = 0
        var rest = input[...]

        func comesBack(_ ids: [Int64]) throws(Violation) {
            for id in ids { try expect(held.remove(id) != nil, "an id is returned once") }
        }

        while let choice = rest.popFirst() {
            if choice >= 250 {
                now = now.advanced(by: .seconds(Int64(rest.popFirst() ?? 0) * 4))
                try comesBack(assembler.expire(now: now))
                continue
            }
            var segment = pool[Int(choice) % pool.count]
            // Two more bytes may change a segment.
            if choice >= 128, let place = rest.popFirst(), let value = rest.popFirst(), !segment.isEmpty {
                segment[Int(place) % segment.count] ^= value
            }
            let signer = choice % 3 == 0 ? nil : FuzzKeys.identity?.publicKey
            nextID += 1
            held.insert(nextID)
            switch assembler.add(segment, id: nextID, signer: signer, now: now, isAgain: choice % 5 == 0) {
            case .notASegment, .duplicate, .late: try comesBack([nextID])
            case .incomplete(let evicted): try comesBack(evicted)
            case .complete(let message, let ids):
                try comesBack(ids)
                try expect(message.count <= limits.maximumMessageByteCount, "the length of a message is bounded")
            case .invalid(_, let ids): try comesBack(ids)
            }
            try expect(assembler.byteCount <= limits.maximumByteCount, "the memory of the assembler is bounded")
            try expect(assembler.setCount <= limits.maximumSetCount, "the number of sets is bounded")
        }
        now = now.advanced(by: limits.maximumAge + .seconds(1))
        try comesBack(assembler.expire(now: now))
        try expect(held.isEmpty, "each id is returned")
        try expect(assembler.byteCount == 0 && assembler.setCount == 0, "the assembler is empty after all segments have aged")
    }

    /// Segments of messages of three sizes, one of them with parity.
    private static let segmentPool: [[UInt8]] = [(30, 10), (64, 10), (400, 40), (2_000, 100)].flatMap { size, segmentSize in
        Segmenter(segmentByteCount: segmentSize).segment((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) } + [1])
    }
}
