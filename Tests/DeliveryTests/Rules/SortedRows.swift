/// Rows in the order of their next attempts.
struct SortedRows {
    private struct Entry: Comparable {
        var next: Int64
        var id: Int64

        static func < (left: Entry, right: Entry) -> Bool { (left.next, left.id) < (right.next, right.id) }
    }

    private var entries: [Entry] = []

    mutating func insert(_ id: Int64, next: Int64) {
        let entry = Entry(next: next, id: id)
        entries.insert(entry, at: index(of: entry))
    }

    mutating func remove(_ id: Int64, next: Int64) {
        let entry = Entry(next: next, id: id)
        let index = index(of: entry)
        if index < entries.count, entries[index] == entry { entries.remove(at: index) }
    }

    /// Returns the first rows whose next attempt is in a range.
    func first(_ limit: Int, in range: ClosedRange<Int64>) -> [(next: Int64, id: Int64)] {
        entries[index(of: Entry(next: range.lowerBound, id: .min))...].prefix(limit).prefix { $0.next <= range.upperBound }
            .map { ($0.next, $0.id) }
    }

    /// The index of the first entry that is not before another.
    private func index(of entry: Entry) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
