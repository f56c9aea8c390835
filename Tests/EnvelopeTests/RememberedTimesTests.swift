import Envelope
import TestSupport
import Testing
import Wire

/// The times that the assembler of segments remembers, by a clock that was a year ahead.
@Suite(.safetyNet) struct RememberedTimesTests {
    @Test(arguments: [
        RememberedTime("an incomplete set") { ahead, right in
            var assembler = SegmentAssembler()
            _ = assembler.add(.data(0, of: 2), id: 1, now: ahead)
            let given = [0, 599, 600].map { assembler.expire(now: right.advanced(by: .seconds($0))) }
            return given == [[], [], [1]]
        },
        RememberedTime("completed sets") { ahead, right in
            var assembler = SegmentAssembler()
            var random = SplitMix64(seed: 9)
            let sets = (0..<2).map { _ in Segmenter(segmentByteCount: 10).segment(random.message(20)) }
            for segment in sets[0] { _ = assembler.add(segment, id: 1, signer: nil, now: ahead) }
            for segment in sets[1] { _ = assembler.add(segment, id: 2, signer: nil, now: right) }
            _ = assembler.expire(now: right.advanced(by: .seconds(600)))
            let again = sets.map { assembler.add($0[0], id: 3, signer: nil, now: right.advanced(by: .seconds(600))) }
            return again.allSatisfy { $0 == .incomplete(evicted: []) }
        },
    ]) func `what a clock that was a year ahead has left goes on once it is right`(time: RememberedTime) async throws {
        #expect(try await time.goesOn())
    }
}
