import Store
import Testing

struct HalvingTests {
    /// Tries the parts of a batch until all have an outcome.
    ///
    /// - Parameter error: Returns the error of a part; nil if it is committed.
    private func run(_ count: Int, _ error: (Range<Int>) -> StoreError?) -> (parts: [Range<Int>], failed: [Int]) {
        var (halving, parts, failed) = (Halving(count: count), [Range<Int>](), [Int]())
        while let part = halving.next {
            parts.append(part)
            if let error = error(part) {
                failed += halving.fail(with: error)
            } else {
                halving.succeed()
            }
        }
        return (parts, failed)
    }

    @Test func `a batch without errors is one transaction, and an empty one is none`() {
        #expect(run(500) { _ in nil }.parts == [0..<500])
        #expect(run(0) { _ in .damaged }.parts == [])
    }

    @Test(arguments: 0..<500) func `a piece that fails alone is found among 500 in at most 19 transactions`(piece: Int) {
        let (parts, failed) = run(500) { $0.contains(piece) ? .damaged : nil }
        #expect(failed == [piece])
        #expect(parts.count <= 19)
    }

    @Test(arguments: 1...20) func `each piece has one outcome, in order`(count: Int) {
        let bad = Set((0..<count).filter { $0 % 3 == 1 })
        let (parts, failed) = run(count) { !bad.isDisjoint(with: $0) ? .alreadyDecided : nil }
        #expect(failed == bad.sorted())
        let committed = parts.filter { bad.isDisjoint(with: $0) }.flatMap { Array($0) }
        #expect(committed == (0..<count).filter { !bad.contains($0) })
        #expect(run(count) { _ in .damaged }.failed == Array(0..<count))
    }

    @Test func `the search for locked rows ends with the eighth, because a table may be locked`() {
        let (parts, failed) = run(500) { _ in .rowLocked(by: nil) }
        #expect(failed == Array(0..<500))
        #expect(parts.count { $0.count == 1 } == 8 && parts.count < 30)
    }

    @Test(arguments: [StoreError.unreachable(""), .unavailable(code: 13, text: ""), .closed])
    func `an error of the whole store fails all pieces that are left, without another transaction`(error: StoreError) {
        #expect(run(500) { _ in error } == (parts: [0..<500], failed: Array(0..<500)))
        // The store fails after the search for piece 3 has started.
        let (parts, failed) = run(8) { $0.contains(3) ? $0.count > 2 ? .damaged : error : nil }
        #expect(parts == [0..<8, 0..<4, 0..<2, 2..<4])
        #expect(failed == Array(2..<8))
    }
}
