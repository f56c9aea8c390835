import Bytes
import TestSupport
import Testing

@Suite(.safetyNet) struct SecureRandomTests {
    @Test func `numbers do not repeat over many refills, nor between copies`() {
        var random = SecureRandom()
        var copy = random
        let numbers = (0..<1_000).map { $0.isMultiple(of: 2) ? random.next() : copy.next() }
        #expect(Set(numbers).count == 1_000)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 256, 1_000]) func `the requested number of bytes is returned`(_ count: Int) {
        var random = SecureRandom()
        #expect(random.bytes(count).count == count)
    }

    @Test func `all of the bytes are random`() {
        var random = SecureRandom()
        // The probability of a position that is zero in all 256 draws is 2^-2048.
        var seen = [UInt8](repeating: 0, count: 21)
        for _ in 0..<256 {
            let fixed: FixedBytes<21> = random.fixedBytes()
            let bytes = random.bytes(21)
            for index in seen.indices { seen[index] |= fixed[index] & bytes[index] }
        }
        #expect(seen.allSatisfy { $0 != 0 })
    }
}
