import Bytes
import TestSupport
import Testing

@Suite(.safetyNet) struct FixedBytesTests {
    @Test func `only the exact length is accepted`() {
        #expect(FixedBytes<3>([1, 2]) == nil)
        #expect(FixedBytes<3>([1, 2, 3, 4]) == nil)
        #expect(FixedBytes<3>([1, 2, 3])?.bytes == [1, 2, 3])
        #expect(FixedBytes<3>([1, 2, 3, 4].span.extracting(1...))?.bytes == [2, 3, 4])
        #expect(FixedBytes<3>([1, 2].span) == nil)
    }

    @Test func `equality and hash go by the bytes`() throws {
        let bytes = try #require(FixedBytes<3>(hex: "0a0b0c"))
        var other = bytes
        #expect(Set([bytes, other]).count == 1)
        other[2] ^= 1
        #expect(bytes != other)
        #expect(Set([bytes, other]).count == 2)
    }

    @Test func `hex is written lower case and read in both cases`() {
        #expect(Hex.encode([0, 0xAB, 0xFF], prefix: "0x") == "0x00abff")
        #expect(Hex.decode("00aBFf") == [0, 0xAB, 0xFF])
        #expect(FixedBytes<2>(hex: "abCD")?.description == "abcd")
    }

    @Test(arguments: ["0", "0g", "0x00", " 0", "0:", "/0", "é"]) func `other texts are not hex`(_ text: String) {
        #expect(Hex.decode(text) == nil)
    }
}
