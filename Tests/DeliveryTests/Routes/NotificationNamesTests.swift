import Bytes
import Envelope
import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct NotificationNamesTests {
    @Test func `a notification id is a UUID of version 7: the time first, the rest random`() {
        var random = SecureRandom()
        // The time of RFC 9562's example, appendix A.6.
        let now = Timestamp(nanoseconds: 0x017F_22E2_79B0 * 1_000_000 + 999_999)
        let names = (0..<200).map { _ in NotificationID(at: now, using: &random) }
        for name in names {
            #expect(name.bytes.prefix(6) == [0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0])
            #expect(name[6] >> 4 == 7)
            #expect(name[8] >> 6 == 0b10)
        }
        #expect(Set(names).count == names.count)
        // The 74 random bits: each is set in some id and clear in another.
        for index in 6..<16 {
            let fixed: UInt8 = index == 6 ? 0xF0 : index == 8 ? 0xC0 : 0
            #expect(names.reduce(0) { $0 | $1[index] } & ~fixed == ~fixed)
            #expect(names.reduce(0xFF) { $0 & $1[index] } & ~fixed == 0)
        }
    }

    @Test func `later notification ids are greater, and no time causes a crash`() {
        var random = SecureRandom()
        let times = [Int64.min, 0, 1_000_000, 1_800_000_000_000_000_000, .max].map { Timestamp(nanoseconds: $0) }
        let prefixes = times.map { Array(NotificationID(at: $0, using: &random).bytes.prefix(6)) }
        #expect(prefixes.first == [0, 0, 0, 0, 0, 0])
        for (earlier, later) in zip(prefixes.dropFirst(), prefixes.dropFirst(2)) {
            #expect(earlier.lexicographicallyPrecedes(later))
        }
    }
}
