import Bytes
import Store
import TestSupport
import Testing

@testable import SQLiteStore

@Suite(.safetyNet)
struct ListFingerprintsTests {
    private let fingerprints = ListFingerprints(key: FixedBytes(repeating: 1))

    private func entry(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 256), count: number / 256 + 1) }

    @Test(arguments: [1, 2, 3, 64, 1_000])
    func `the column of a list has 8 bytes for each entry, and exactly its entries are found in it`(count: Int) throws {
        let list = (0..<count).map { entry(2 * $0) }
        let column = try #require(fingerprints.column(for: list.shuffled()))
        #expect(column.count == 8 * count)
        let asked = (0..<2 * count).map { entry($0) }
        #expect(fingerprints.entries(Set(asked), in: column) == Set(list))
    }

    @Test func `an empty list has no column and contains no entry`() {
        #expect(fingerprints.column(for: []) == nil)
        #expect(fingerprints.entries([[], [1]], in: nil) == [])
        #expect(fingerprints.column(for: [[]]) != nil)
    }

    @Test func `two databases have different fingerprints`() {
        let other = ListFingerprints(key: FixedBytes(repeating: 2))
        #expect(other.entries([entry(1)], in: fingerprints.column(for: [entry(1)])) == [])
    }
}
