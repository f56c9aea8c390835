import Envelope

/// A store's rows for a query, page by page: decides which page to request next, and when the listing is complete.
///
/// A store returns a cursor with each page but the last. Some stores return a cursor even with the last page if it is full, and some lose
/// their way after a cursor: they respond to it with an empty page although rows follow. The response does not tell these cases apart, so
/// the listing then continues by time, from the last row.
package struct StoreListing: Sendable {
    /// The reason why a listing cannot be continued.
    package enum Fault: Error, Equatable, CustomStringConvertible {
        /// A cursor came without rows, or the cursors form a cycle.
        case stalled

        package var description: String { "the store's cursor does not advance" }
    }

    /// The query for the next page.
    package private(set) var query: StoreQuery
    package private(set) var isComplete = false

    private let first: StoreQuery
    /// The number of cursors since the last start by time.
    private var cursorCount = 0
    /// The cursor of the last page whose number was a power of two. A cycle comes back to it sooner or later (Brent's algorithm), so the
    /// memory does not grow with the number of pages.
    private var landmark: String?
    /// The time of the last row, if the query includes data.
    private var lastRow: Timestamp?
    /// The last page's hashes, which the listing meets again when it continues by time.
    private var lastHashes: Set<String> = []

    package init(_ query: StoreQuery) {
        self.query = query
        first = query
    }

    /// Takes the response to ``query``, which then asks for the next page.
    ///
    /// - Returns: The page's rows, without rows that the listing has met again because it continued by time.
    @discardableResult
    package mutating func take(_ page: StorePage) throws(Fault) -> [StorePage.Row] {
        if let cursor = page.cursor {
            guard !page.rows.isEmpty, cursor != query.cursor, cursor != landmark else { throw .stalled }
            cursorCount += 1
            if cursorCount & (cursorCount - 1) == 0 { landmark = cursor }
            lastRow = page.rows.last?.timestamp
            query.cursor = cursor
        } else if page.rows.isEmpty, query.cursor != nil, query.isAscending {
            try continueByTime()
        } else {
            isComplete = true
        }
        let rows = page.rows.filter { !lastHashes.contains($0.hash) }
        if !page.rows.isEmpty { lastHashes = Set(page.rows.map(\.hash)) }
        return rows
    }

    /// Starts again, because the store does not know the cursor any more.
    package mutating func restart() {
        query.startTime = first.startTime
        lastHashes = []
        forgetCursors()
    }

    /// Goes on from the last row, or from the query's start if the rows so far had no time.
    private mutating func continueByTime() throws(Fault) {
        guard query.includesData else {
            query.includesData = true
            return restart()
        }
        guard let lastRow else { throw .stalled }
        // If more rows have the same time than fit into a page, time cannot tell them apart. The next nanosecond makes sure that the
        // listing ends.
        let next = max(lastRow, query.startTime?.advanced(by: .nanoseconds(1)) ?? lastRow)
        query.startTime = next
        isComplete = query.endTime.map { $0 < next } ?? false
        forgetCursors()
    }

    private mutating func forgetCursors() {
        query.cursor = nil
        (cursorCount, landmark, lastRow) = (0, nil, nil)
    }
}
