/// Reply times, counted in a histogram's buckets.
package struct ReplyTimes: Sendable, Equatable {
    /// Clients wait this long for a reply.
    private static let clientTimeoutSeconds = 3.0

    /// The buckets' upper bounds in seconds, ascending.
    package var bounds: [Double] = []
    /// The number of replies in each bucket, and last the number above the highest bound.
    package var counts: [Int] = []

    package init(bounds: [Double] = [], counts: [Int] = []) {
        (self.bounds, self.counts) = (bounds, counts)
    }

    /// Returns the counts since an earlier state of the same histogram.
    func since(_ earlier: ReplyTimes) -> ReplyTimes {
        guard earlier.counts.count == counts.count else { return self }
        return ReplyTimes(bounds: bounds, counts: zip(counts, earlier.counts).map { $0 - $1 })
    }

    var summary: StatusSnapshot.Replies {
        let late = zip(bounds + [.infinity], counts).reduce(0) { $1.0 > Self.clientTimeoutSeconds ? $0 + $1.1 : $0 }
        return .init(
            count: counts.reduce(0, +), lateCount: late, p50Milliseconds: percentile(50), p99Milliseconds: percentile(99))
    }

    /// Returns the bound in milliseconds of the bucket with the percentile, or nil without replies, or above the highest bound.
    private func percentile(_ percent: Int) -> Int? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        var sum = 0
        for (bound, count) in zip(bounds, counts) {
            sum += count
            // The bounds are fractions of a second with at most four digits. Bounds below a millisecond count as a millisecond.
            if sum * 100 >= total * percent { return Int((bound * 1_000).rounded(.up)) }
        }
        return nil
    }
}
