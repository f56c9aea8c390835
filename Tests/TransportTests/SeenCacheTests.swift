import Bytes
import Envelope
import TestServers
import TestSupport
import Testing

@testable import Transport

/// The memory of message hashes, on a clock that the tests advance.
@Suite(.safetyNet) struct SeenCacheTests {
    static let start = TestNode.start

    func hash(_ number: Int) -> Digest32 {
        var hash = Digest32()
        for index in 0..<8 { hash[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return hash
    }

    func time(_ seconds: Int) -> Timestamp { Self.start.advanced(by: .seconds(seconds)) }

    @Test func `a hash is kept for 75 minutes, and not for ever`() {
        var cache = SeenCache()
        for second in stride(from: 0, through: 20_000, by: 10) {
            cache.insert([hash(second)], at: time(second))
            #expect(cache.contains(hash(max(0, second - 75 * 60))))
            if second > 75 * 60 + 300 { #expect(!cache.contains(hash(second - 75 * 60 - 310))) }
        }
        #expect(cache.forgottenUntil == nil)
    }

    @Test func `beyond the limit the oldest hashes are forgotten, and the cache says until when`() {
        var cache = SeenCache(maximumCount: 160)
        for second in 0..<1_000 {
            cache.insert([hash(second)], at: time(second))
            guard second.isMultiple(of: 37) else { continue }
            let kept = (0...second).filter { cache.contains(hash($0)) }
            #expect(kept.count <= 160 && kept.count >= min(second + 1, 150))
            // Whatever arrived since then is known.
            let forgotten = cache.forgottenUntil ?? Self.start
            #expect(kept.first.map { time($0) == forgotten } == true)
        }
    }

    @Test func `a hash counts once, and can be removed`() {
        var cache = SeenCache(maximumCount: 16)
        cache.insert(Array(repeating: hash(1), count: 100), at: time(0))
        for _ in 0..<100 { cache.insert([hash(1), hash(2)], at: time(1)) }
        #expect(cache.forgottenUntil == nil)
        cache.remove([hash(1)])
        #expect(!cache.contains(hash(1)) && cache.contains(hash(2)))
        cache.insert([hash(1)], at: time(2))
        #expect(cache.contains(hash(1)))
    }

    @Test func `removed hashes leave their space to others`() {
        var cache = SeenCache(maximumCount: 64)
        cache.insert((0..<64).map { hash($0) }, at: time(0))
        cache.remove((0..<32).map { hash($0) })
        cache.insert((64..<96).map { hash($0) }, at: time(0))
        #expect((32..<96).allSatisfy { cache.contains(hash($0)) } && cache.forgottenUntil == nil)
    }

    @Test(arguments: [-100_000, 100_000]) func `a clock that jumps costs memory of messages, but no more memory than the limit`(jump: Int) {
        var cache = SeenCache(maximumCount: 160)
        for second in 0..<100 { cache.insert([hash(second)], at: time(second)) }
        for second in 100..<1_000 { cache.insert([hash(second)], at: time(second + jump)) }
        #expect((0..<1_000).count { cache.contains(hash($0)) } <= 160)
        #expect(cache.contains(hash(999)))
    }
}
