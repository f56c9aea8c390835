import Bytes
import Envelope
import TestSupport
import Testing
import Wire

/// The limits of memory for segment sets.
@Suite(.fewAtATime)
struct SegmentFloodTests {
    /// A generator of segments. Each belongs to another set, because the generator writes a number into the hash of an encoded segment.
    struct Flood {
        private var segment: [UInt8]

        init(payload: [UInt8] = [1, 2, 3]) { segment = SegmentMessage.data(0, of: 2, payload: payload).encoded() }

        mutating func next(_ number: Int) -> [UInt8] {
            // The hash's bytes begin after its tag and length.
            for index in 0..<8 { segment[2 + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
            return segment
        }
    }

    static var smallLimits: SegmentAssembler.Limits {
        var limits = SegmentAssembler.Limits()
        limits.maximumSetCount = 100
        limits.maximumSignerSetCount = 10
        limits.maximumByteCount = 1_000_000
        limits.maximumSignerByteCount = 200_000
        return limits
    }

    @Test func `forty thousand sets of a thousand signers cost no more than the limits, and every id comes back`() throws {
        let signers = try (1...1_100).map { try Signers.key($0) }
        let limits = SegmentAssembler.Limits()
        var assembler = SegmentAssembler(limits: limits)
        var flood = Flood(payload: .zeros(8_000))
        var (highestByteCount, highestSetCount, returnedCount) = (0, 0, 0)
        for number in 0..<40_000 {
            // The second half has small segments. First the bytes exceed their limit, and then the sets do.
            if number == 20_000 { flood = Flood() }
            let result = assembler.add(flood.next(number), id: Int64(number), signer: signers[number % 1_100], now: .start)
            guard case .incomplete(let evicted) = result else {
                Issue.record("not kept")
                return
            }
            returnedCount += evicted.count
            highestByteCount = max(highestByteCount, assembler.byteCount)
            highestSetCount = max(highestSetCount, assembler.setCount)
        }
        #expect(limits.maximumByteCount - 10_000...limits.maximumByteCount ~= highestByteCount)
        #expect(highestSetCount == limits.maximumSetCount)
        #expect(returnedCount + assembler.expire(now: .start.advanced(by: limits.maximumAge)).count == 40_000)
        #expect(assembler.byteCount == 0)
    }

    @Test func `a signer's flood displaces only its own sets, the longest waiting first`() throws {
        let (victim, attacker) = (try Signers.key(1), try Signers.key(2))
        var assembler = SegmentAssembler(limits: Self.smallLimits)
        var random = SplitMix64(seed: 3)
        let message = random.message(20)
        let segments = Segmenter(segmentByteCount: 10).segment(message)
        _ = assembler.add(segments[0], id: -1, signer: victim, now: .start)
        var flood = Flood()
        for number in 0..<1_000 {
            let result = assembler.add(flood.next(number), id: Int64(number), signer: attacker, now: .start)
            #expect(result == .incomplete(evicted: number < 10 ? [] : [Int64(number) - 10]))
        }
        #expect(assembler.setCount == 11)
        #expect(assembler.add(segments[1], id: -2, signer: victim, now: .start) == .complete(message, ids: [-2, -1]))
    }

    @Test func `a signer's set with the newest segment is dropped last; a duplicate does not count`() {
        var assembler = SegmentAssembler(limits: Self.smallLimits)
        var flood = Flood()
        let (first, second) = (SegmentMessage.data(0, of: 3, hash: .zeros(32)), SegmentMessage.data(0, of: 3))
        _ = assembler.add(first, id: -1)
        _ = assembler.add(second, id: -2)
        for number in 1..<9 { _ = assembler.add(flood.next(number), id: Int64(number), signer: nil, now: .start) }
        #expect(assembler.add(first, id: -3) == .duplicate)
        #expect(assembler.add(.data(1, of: 3), id: -4) == .incomplete(evicted: []))
        let results = (9..<19).map { assembler.add(flood.next($0), id: Int64($0), signer: nil, now: .start) }
        #expect(results == [[-1], [1], [2], [3], [4], [5], [6], [7], [8], [-4, -2]].map { .incomplete(evicted: $0) })
    }

    @Test func `the bytes of a signer are bounded like its sets`() throws {
        let attacker = try Signers.key(2)
        var assembler = SegmentAssembler(limits: Self.smallLimits)
        _ = assembler.add(.data(0, of: 2), id: -1)
        var flood = Flood(payload: .zeros(60_000))
        for number in 0..<3 {
            #expect(assembler.add(flood.next(number), id: Int64(number), signer: attacker, now: .start) == .incomplete(evicted: []))
        }
        #expect(assembler.add(flood.next(3), id: 3, signer: attacker, now: .start) == .incomplete(evicted: [0]))
        #expect(assembler.setCount == 4)
    }

    @Test func `a flood of many signers displaces the set that waited longest for a segment`() throws {
        var assembler = SegmentAssembler(limits: Self.smallLimits)
        let (first, second) = (try Signers.key(1), try Signers.key(2))
        _ = assembler.add(.data(0, of: 3), id: -1, signer: first)
        _ = assembler.add(.data(0, of: 3), id: -2, signer: second)
        _ = assembler.add(.data(1, of: 3), id: -3, signer: first)
        var flood = Flood()
        var evicted: [Int: [Int64]] = [:]
        for number in 0..<101 {
            let signer = try Signers.key(10 + number / 10)
            if case .incomplete(let ids) = assembler.add(flood.next(number), id: Int64(number), signer: signer, now: .start), ids != [] {
                evicted[number] = ids
            }
            #expect(assembler.setCount <= 100)
        }
        #expect(evicted == [98: [-2], 99: [-3, -1], 100: [0]])
    }

    /// Measured at 145 bytes of memory a segment, besides its payload.
    @Test func `segments of one byte count with the memory that they take`() {
        var assembler = SegmentAssembler()
        for set in 0..<10 as Range<UInt8> {
            for index in 0..<500 as Range<UInt32> {
                let segment = SegmentMessage.data(index, of: 501, hash: Array(repeating: set, count: 32), payload: [1])
                #expect(assembler.add(segment, id: Int64(set) * 500 + Int64(index)) == .incomplete(evicted: []))
            }
        }
        #expect(assembler.byteCount >= 5_000 * 145)
        #expect(assembler.removeAll().count == 5_000)
        #expect(assembler.byteCount == 0)
    }

    @Test(arguments: 5..<10 as Range<UInt64>)
    func `for any input every id is returned once and the byte count is correct, although the clock is set back`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let signers = [nil, try Signers.key(1), try Signers.key(2), try Signers.key(3)]
        var assembler = SegmentAssembler(limits: Self.smallLimits)
        let sets = (0..<40).map { _ in
            let segmentByteCount = Int.random(in: 100...4_000, using: &random)
            return Segmenter(segmentByteCount: segmentByteCount).segment(
                random.message(segmentByteCount * Int.random(in: 1...9, using: &random) + 1))
        }
        var waiting: Set<Int64> = []
        var completeCount = 0
        for id in 0..<4_000 as Range<Int64> {
            let set = sets[Int.random(in: 0..<sets.count, using: &random)]
            guard var segment = set.randomElement(using: &random) else { continue }
            if Int.random(in: 0..<20, using: &random) == 0 { segment[Int.random(in: segment.indices, using: &random)] ^= 1 }
            // The clock is set back by five minutes now and then.
            let now = Timestamp.start.advanced(by: .seconds(id - (id / 300 % 2) * 300))
            waiting.insert(id)
            var back: [Int64]
            let (signer, isAgain) = (signers[Int.random(in: 0..<4, using: &random)], Int.random(in: 0..<4, using: &random) == 0)
            switch assembler.add(segment, id: id, signer: signer, now: now, isAgain: isAgain) {
            case .incomplete(let evicted): back = evicted
            case .complete(_, let ids):
                back = ids
                completeCount += 1
            case .invalid(_, let ids): back = ids
            case .notASegment, .duplicate, .late: back = [id]
            }
            if id % 100 == 0 { back += assembler.expire(now: now) }
            for id in back { #expect(waiting.remove(id) != nil) }
            #expect(assembler.byteCount <= Self.smallLimits.maximumByteCount)
            #expect(assembler.setCount <= 40 + 100)
        }
        #expect(completeCount > 10)
        #expect(Set(assembler.expire(now: .start.advanced(by: .seconds(10_000)))) == waiting)
        #expect(assembler.byteCount == 0)
    }
}
