import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

/// Segments of hostile senders.
@Suite(.safetyNet) struct SegmentHostilityTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The held segments. The assembler has accepted all of them.
        var held: [SegmentMessage] = []
        let added: SegmentMessage
        let fault: SegmentFault
    }

    static let cases = [
        Case("hash of 31 bytes", .data(0, of: 2, hash: Array(repeating: 7, count: 31)), .hashByteCount),
        Case("hash of 33 bytes", .data(0, of: 2, hash: Array(repeating: 7, count: 33)), .hashByteCount),
        Case("no hash", .parity(0, of: 1, hash: []), .hashByteCount),
        Case("index is the count", .data(2, of: 2), .indexOutOfRange),
        Case("largest index", .data(.max, of: 2), .indexOutOfRange),
        Case("largest index and count", .data(.max, of: .max), .indexOutOfRange),
        Case("parity index is the count", .parity(1, of: 1), .indexOutOfRange),
        Case("largest parity index", .parity(.max, of: 28), .indexOutOfRange),
        Case("largest count", .data(0, of: .max), .tooManySegments),
        Case("1,025 segments", .data(0, of: 1_025), .tooManySegments),
        Case("largest parity count", .parity(0, of: .max), .tooManySegments),
        Case("29 parity segments", .parity(0, of: 29), .tooManySegments),
        Case("a whole of 8 MiB and a byte", .data(0, of: 9, payload: .zeros(1 << 20)), .messageTooLong),
        Case("8 times a parity segment over 8 MiB", .parity(0, of: 9, payload: .zeros(1 << 17)), .messageTooLong),
        Case("a last segment with an impossible count", .data(8, of: 9, payload: .zeros(1 << 20)), .messageTooLong),
        Case("another count", held: [.data(0, of: 2)], .data(1, of: 3), .contradiction),
        Case("another parity count", held: [.parity(0, of: 1)], .parity(1, of: 2), .contradiction),
        Case("parity in a set without parity", held: [.data(0, of: 7)], .parity(0, of: 1), .contradiction),
        Case("too little parity", held: [.data(0, of: 16)], .parity(0, of: 1), .contradiction),
        Case("data that does not fit the parity", held: [.parity(0, of: 2)], .data(0, of: 8), .contradiction),
        Case("parity beyond 256", held: [.parity(0, of: 28)], .data(0, of: 229), .contradiction),
        Case("another size", held: [.data(0, of: 3)], .data(1, of: 3, payload: [1, 2]), .contradiction),
        Case("parity of another size", held: [.data(0, of: 8)], .parity(0, of: 1, payload: [1]), .contradiction),
        Case("the last one longer", held: [.data(0, of: 3)], .data(2, of: 3, payload: [1, 2, 3, 4]), .contradiction),
        Case("shorter than the last", held: [.data(2, of: 3)], .data(1, of: 3, payload: [1]), .contradiction),
        Case("other bytes at the same index", held: [.data(0, of: 3)], .data(0, of: 3, payload: [3, 2, 1]), .contradiction),
        Case("other parity at the same index", held: [.parity(0, of: 1)], .parity(0, of: 1, payload: [3, 2, 1]), .contradiction),
        Case(
            "a size that makes the whole too long", held: [.data(99, of: 100)], .data(0, of: 100, payload: .zeros(1 << 17)),
            .messageTooLong),
    ]

    @Test(arguments: cases)
    func `an impossible or contradictory segment is rejected at no cost`(_ hostile: Case) {
        var assembler = SegmentAssembler()
        for (number, message) in hostile.held.enumerated() {
            #expect(assembler.add(message, id: Int64(number)) == .incomplete(evicted: []))
        }
        let byteCount = assembler.byteCount
        #expect(assembler.add(hostile.added, id: 77) == .invalid(hostile.fault, ids: [77]))
        #expect(assembler.byteCount == byteCount)
        #expect(assembler.setCount == min(1, hostile.held.count))
    }

    /// Each segment differs from one of ``cases`` in one thing.
    @Test func `a segment at a limit that agrees with the held ones is kept`() {
        let kept: [(name: String, held: [SegmentMessage], added: SegmentMessage)] = [
            ("hash of 32 bytes", [], .parity(0, of: 1)),
            ("last index", [], .data(1, of: 2)),
            ("last parity index", [], .parity(27, of: 28)),
            ("1,024 segments", [], .data(0, of: 1_024)),
            ("a whole of less than 8 MiB", [], .data(0, of: 9, payload: .zeros(1 << 20 - 1))),
            ("8 times a parity segment of 8 MiB", [], .parity(0, of: 8, payload: .zeros(1 << 17))),
            ("a last segment with a possible count", [], .data(7, of: 8, payload: .zeros(1 << 20))),
            ("the same count and size", [.data(0, of: 3)], .data(1, of: 3)),
            ("the same parity count", [.parity(0, of: 2)], .parity(1, of: 2)),
            ("parity in the smallest set with parity", [.data(0, of: 8)], .parity(0, of: 1)),
            ("enough parity", [.data(0, of: 16)], .parity(0, of: 2)),
            ("data that fits the parity", [.parity(0, of: 2)], .data(0, of: 16)),
            ("parity up to 256", [.parity(0, of: 28)], .data(0, of: 228)),
            ("the last one of the same size", [.data(0, of: 3)], .data(2, of: 3)),
            ("as long as the last", [.data(2, of: 3)], .data(1, of: 3)),
            ("a size at which the whole is not too long", [.data(99, of: 100)], .data(0, of: 100, payload: .zeros(1 << 16))),
        ]
        for (name, held, added) in kept {
            var assembler = SegmentAssembler()
            for message in held { _ = assembler.add(message, id: 1) }
            let byteCount = assembler.byteCount
            let result = assembler.add(added, id: 77)
            #expect(result == .incomplete(evicted: []), "\(name)")
            #expect(assembler.byteCount > byteCount, "\(name)")
        }
    }

    @Test func `after a contradiction the set can still be completed`() {
        var random = SplitMix64(seed: 1)
        let message = random.message(20)
        let segments = Segmenter(segmentByteCount: 10).segment(message)
        var assembler = SegmentAssembler()
        _ = assembler.add([segments[0]])
        let hash = Keccak.keccak256(message).bytes
        #expect(assembler.add(.data(0, of: 2, hash: hash, payload: .zeros(10)), id: 5) == .invalid(.contradiction, ids: [5]))
        #expect(assembler.add(.data(1, of: 3, hash: hash), id: 6) == .invalid(.contradiction, ids: [6]))
        #expect(assembler.add(segments[1], id: 7, signer: nil, now: .start) == .complete(message, ids: [0, 7]))
    }

    @Test func `truncated or altered bytes cause no crash`() {
        var random = SplitMix64(seed: 2)
        let segments = Segmenter(segmentByteCount: 10).segment(random.message(85))
        var assembler = SegmentAssembler()
        for segment in segments {
            for index in segment.indices {
                _ = assembler.add([Array(segment[..<index])])
                var altered = segment
                altered[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                _ = assembler.add([altered])
                _ = assembler.add([random.bytes(index)])
            }
        }
        #expect(assembler.setCount <= SegmentAssembler.Limits().maximumSignerSetCount)
    }
}

extension SegmentHostilityTests.Case {
    init(_ description: String, held: [SegmentMessage] = [], _ added: SegmentMessage, _ fault: SegmentFault) {
        self.init(testDescription: description, held: held, added: added, fault: fault)
    }
}

extension [UInt8] {
    static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
