import Bytes
import Envelope
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct SegmentAssemblerTests {
    private let message: [UInt8]
    private let segments: [[UInt8]]

    init() {
        var random = SplitMix64(seed: 9)
        message = random.message(30)
        segments = Segmenter(segmentByteCount: 10).segment(message)
    }

    @Test func `a complete set names the ids of the segments it was made from, and of no others`() {
        var assembler = SegmentAssembler()
        _ = assembler.add(.data(0, of: 2), id: 1)
        _ = assembler.add(segments[2], id: 30, signer: nil, now: .start)
        _ = assembler.add(segments[0], id: 10, signer: nil, now: .start)
        #expect(assembler.add(segments[0], id: 11, signer: nil, now: .start) == .duplicate)
        #expect(assembler.add(segments[1], id: 20, signer: nil, now: .start) == .complete(message, ids: [10, 20, 30]))
        #expect(assembler.setCount == 1)
    }

    @Test func `a repeated segment under the same id changes nothing`() {
        var assembler = SegmentAssembler()
        _ = assembler.add(segments[0], id: 10, signer: nil, now: .start)
        let byteCount = assembler.byteCount
        #expect(assembler.add(segments[0], id: 10, signer: nil, now: .start) == .incomplete(evicted: []))
        #expect(assembler.byteCount == byteCount)
    }

    @Test func `equal segments of two signers are two sets`() throws {
        var assembler = SegmentAssembler()
        let signers = [nil, try Signers.key(1), try Signers.key(2)]
        for segment in segments.dropLast() {
            for signer in signers {
                #expect(assembler.add(segment, id: 0, signer: signer, now: .start) == .incomplete(evicted: []))
            }
        }
        #expect(assembler.setCount == 3)
        for (number, signer) in signers.enumerated() {
            #expect(assembler.add(segments[2], id: 1, signer: signer, now: .start).message == message)
            #expect(assembler.setCount == 2 - number)
        }
    }

    @Test func `segments of a complete set are late for ten minutes, and then the message may come again`() {
        var assembler = SegmentAssembler()
        _ = assembler.add(segments)
        let almost = Timestamp.start.advanced(by: .seconds(599))
        #expect(assembler.expire(now: almost) == [])
        #expect(assembler.add(segments[0], id: 5, signer: nil, now: almost) == .late)
        let after = Timestamp.start.advanced(by: .seconds(600))
        #expect(assembler.expire(now: after) == [])
        let results = segments.map { assembler.add($0, id: 6, signer: nil, now: after) }
        #expect(results.last?.message == message)
    }

    @Test func `a set that is completed again from the journal is late for ten minutes after that, and then forgotten`() {
        var assembler = SegmentAssembler()
        _ = assembler.add(segments)
        let again = Timestamp.start.advanced(by: .seconds(300))
        let results = segments.map { assembler.add($0, id: 7, signer: nil, now: again, isAgain: true) }
        #expect(results.last?.message == message)
        #expect(assembler.expire(now: again.advanced(by: .seconds(599))) == [])
        #expect(assembler.add(segments[0], id: 8, signer: nil, now: again) == .late)
        let after = again.advanced(by: .seconds(600))
        #expect(assembler.expire(now: after) == [])
        #expect(assembler.add(segments[0], id: 9, signer: nil, now: after) == .incomplete(evicted: []))
    }

    @Test func `an incomplete set is given up ten minutes after its first segment`() throws {
        var assembler = SegmentAssembler()
        let signer = try Signers.key(1)
        _ = assembler.add(segments[1], id: 2, signer: signer, now: .start)
        _ = assembler.add(segments[0], id: 1, signer: signer, now: .start.advanced(by: .seconds(599)))
        _ = assembler.add(.data(0, of: 2), id: 3, now: .start.advanced(by: .seconds(1)))
        #expect(assembler.expire(now: .start.advanced(by: .seconds(599))) == [])
        #expect(assembler.expire(now: .start.advanced(by: .seconds(600))) == [1, 2])
        #expect(assembler.expire(now: .start.advanced(by: .seconds(601))) == [3])
        #expect(assembler.byteCount == 0)
    }

    @Test func `a set whose hash does not match is returned completely and forgotten`() {
        var assembler = SegmentAssembler()
        _ = assembler.add(.data(0, of: 2), id: 1)
        #expect(assembler.add(.data(1, of: 2), id: 2) == .invalid(.hashMismatch, ids: [1, 2]))
        #expect(assembler.byteCount == 0)
        #expect(assembler.add(.data(0, of: 2), id: 3) == .incomplete(evicted: []))
    }

    @Test func `the number of remembered completed sets is bounded`() {
        var limits = SegmentAssembler.Limits()
        limits.maximumCompletedSetCount = 2
        var assembler = SegmentAssembler(limits: limits)
        var random = SplitMix64(seed: 10)
        let sets = (0..<3).map { _ in Segmenter(segmentByteCount: 10).segment(random.message(20)) }
        for set in sets { #expect(assembler.add(set).last?.message != nil) }
        #expect(assembler.add([sets[1][0]]) == [.late])
        #expect(assembler.add([sets[2][0]]) == [.late])
        #expect(assembler.add([sets[0][0]]) == [.incomplete(evicted: [])])
    }
}
