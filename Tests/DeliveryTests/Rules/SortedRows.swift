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

    /// Returns the first rows after a place, with a next attempt of at most `end`.
    func first(_ limit: Int, after place: (next: Int64, id: Int64), upTo end: Int64) -> [(next: Int64, id: Int64)] {
        let start = place.id == .max ? (place.next + 1, Int64.min) : (place.next, place.id + 1)
        return entries[index(of: Entry(next: start.0, id: start.1))...].prefix(limit).prefix { $0.next <= end }.map { ($0.next, $0.id) }
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
