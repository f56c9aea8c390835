import StatusCrypto
import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct ListFingerprintsTests {
    private let fingerprints = ListFingerprints(key: FixedBytes(repeating: 1))

    private func entry(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 256), count: number / 256 + 1) }

    @Test(arguments: [1, 2, 3, 64, 1_000])
    func `Exactly the entries of a list are found in its column, which has 8 bytes for each`(count: Int) throws {
        let list = (0..<count).map { entry(2 * $0) }
        let column = try #require(fingerprints.column(for: list.shuffled()))
        #expect(column.count == 8 * count)
        let asked = (0..<2 * count).map { entry($0) }
        #expect(fingerprints.entries(Set(asked), in: column) == Set(list))
    }

    @Test func `An empty list has no column, and nothing is in it`() {
        #expect(fingerprints.column(for: []) == nil)
        #expect(fingerprints.entries([[], [1]], in: nil) == [])
        #expect(fingerprints.column(for: [[]]) != nil)
    }

    @Test func `Another database has other fingerprints`() {
        let other = ListFingerprints(key: FixedBytes(repeating: 2))
        #expect(other.entries([entry(1)], in: fingerprints.column(for: [entry(1)])) == [])
    }
}
