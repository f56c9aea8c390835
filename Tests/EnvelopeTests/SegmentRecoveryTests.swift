import Bytes
import Envelope
import TestSupport
import Testing

@Suite(.fewAtATime)
struct SegmentRecoveryTests {
    /// Returns every choice of `count` numbers below `bound`.
    static func combinations(_ count: Int, below bound: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return (0..<bound).flatMap { last in combinations(count - 1, below: last).map { $0 + [last] } }
    }

    @Test(arguments: [(8, 1), (15, 1), (16, 2), (24, 3)])
    func `the message is rebuilt whichever segments are lost, up to the number of parity segments`(dataCount: Int, parityCount: Int) {
        var random = SplitMix64(seed: UInt64(dataCount))
        // The last segment is shorter, and has zeros before its end.
        let message = random.message(4 * (dataCount - 1)) + [0, 0, 16]
        let segments = Segmenter(segmentByteCount: 4).segment(message)
        #expect(segments.count == dataCount + parityCount)
        for lossCount in 0...parityCount {
            let choices = Self.combinations(lossCount, below: segments.count)
            // There are 2,925 choices of three. Every 29th suffices, because 29 shares no factor with the 27 segments.
            for index in stride(from: 0, to: choices.count, by: lossCount < 3 ? 1 : 29) {
                let lost = choices[index]
                var assembler = SegmentAssembler()
                let kept = segments.enumerated().filter { !lost.contains($0.offset) }.map(\.element)
                #expect(assembler.add(kept).compactMap(\.message) == [message], "without \(lost)")
            }
        }
    }

    @Test func `a set with one segment too few stays incomplete`() {
        var random = SplitMix64(seed: 1)
        let segments = Segmenter(segmentByteCount: 4).segment(random.message(64))
        for lost in Self.combinations(3, below: segments.count) {
            var assembler = SegmentAssembler()
            let kept = segments.enumerated().filter { !lost.contains($0.offset) }.map(\.element)
            #expect(assembler.add(kept).allSatisfy { $0 == .incomplete(evicted: []) })
        }
    }

    @Test func `any 28 of 256 shards may be lost`() {
        var random = SplitMix64(seed: 2)
        let message = random.message(4 * 228 - 1)
        let segments = Segmenter(segmentByteCount: 4).segment(message)
        #expect(segments.count == 256)
        for _ in 0..<4 {
            var assembler = SegmentAssembler()
            let results = assembler.add(Array(segments.shuffled(using: &random).dropLast(28)))
            #expect(results.last?.message == message)
        }
    }

    @Test func `a message with too many segments for parity needs all of them`() {
        var random = SplitMix64(seed: 3)
        let message = random.message(4 * 257)
        let segments = Segmenter(segmentByteCount: 4).segment(message)
        #expect(segments.count == 257)
        var assembler = SegmentAssembler()
        let results = assembler.add(segments.shuffled(using: &random))
        #expect(results.last?.message == message)
        #expect(results.compactMap(\.message).count == 1)
    }

    @Test func `every order of arrival gives the message once`() {
        var random = SplitMix64(seed: 4)
        let message = random.message(13)
        let segments = Segmenter(segmentByteCount: 3).segment(message)
        #expect(segments.count == 5)
        var orderCount = 0
        func visit(_ order: [[UInt8]], _ rest: [[UInt8]]) {
            if rest.isEmpty {
                var assembler = SegmentAssembler()
                let results = assembler.add(order)
                #expect(results.dropLast().allSatisfy { $0 == .incomplete(evicted: []) })
                #expect(results.last == .complete(message, ids: [0, 1, 2, 3, 4]))
                orderCount += 1
            }
            for index in rest.indices {
                var left = rest
                visit(order + [left.remove(at: index)], left)
            }
        }
        visit([], segments)
        #expect(orderCount == 120)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `a message with shuffled, repeated and lost segments is assembled once`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let segmentByteCount = Int.random(in: 1...40, using: &random)
        let message = random.message(Int.random(in: segmentByteCount + 1...min(2_000, 1_024 * segmentByteCount), using: &random))
        let segments = Segmenter(segmentByteCount: segmentByteCount).segment(message)
        let dataCount = (message.count + segmentByteCount - 1) / segmentByteCount
        let kept = Array(segments.shuffled(using: &random).prefix(dataCount))
        var assembler = SegmentAssembler()
        let results = assembler.add((kept + kept).shuffled(using: &random))
        #expect(results.compactMap(\.message) == [message])
        #expect(assembler.byteCount == 0)
        #expect(assembler.setCount == 0)
    }

    @Test func `segments of the usual size are assembled, also if the last one has a single byte`() {
        let segmenter = Segmenter()
        #expect(segmenter.segmentByteCount == 786_432)
        let message = [UInt8](repeating: 0, count: 786_432) + [16]
        let segments = segmenter.segment(message)
        #expect(segments.count == 2)
        #expect(segments.allSatisfy { $0.count < Segmenter.usualMaximumMessageByteCount })
        var assembler = SegmentAssembler()
        #expect(assembler.add(segments.reversed()).last == .complete(message, ids: [0, 1]))
        #expect(segmenter.segment(Array(message.dropLast())) == [Array(message.dropLast())])
    }
}
