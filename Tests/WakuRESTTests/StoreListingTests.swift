import Envelope
import JSON
import TestSupport
import Testing

@testable import WakuREST

/// The pages of a store, in order (WAKU_REST.md §1.5).
@Suite(.safetyNet) struct StoreListingTests {
    /// A store of messages that are a nanosecond apart, unless they have times of their own.
    struct Store {
        var timestamps: [Int64]
        /// Whether the store responds to a cursor with an empty last page.
        var losesItsWay = true
        var queries: [StoreQuery] = []

        mutating func page(_ query: StoreQuery) throws -> StorePage {
            queries.append(query)
            if losesItsWay, query.cursor != nil { return StorePage() }
            var rows = timestamps.enumerated().filter { row in
                row.element >= query.startTime?.nanoseconds ?? 0 && row.element <= query.endTime?.nanoseconds ?? .max
            }
            if let cursor = query.cursor { rows = Array(rows.drop { "\($0.offset)" != cursor }.dropFirst()) }
            let page = rows.prefix(query.pageSize)
            let messages = page.map { row in
                query.includesData
                    ? #"{"messageHash":"\#(row.offset)","message":{"timestamp":\#(row.element)}}"# : #"{"messageHash":"\#(row.offset)"}"#
            }
            // The last page, too, has a cursor if it is full.
            let cursor = page.count == query.pageSize ? page.last.map { #","paginationCursor":"\#($0.offset)""# } ?? "" : ""
            let text = #"{"messages":[\#(messages.joined(separator: ","))]\#(cursor)}"#
            return try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }.page
        }

        /// Lists the store to the end.
        ///
        /// - Returns: The number of times that each message was listed.
        mutating func list(_ query: StoreQuery) throws -> [String: Int] {
            var listing = StoreListing(query)
            var counts: [String: Int] = [:]
            while !listing.isComplete {
                for row in try listing.take(page(listing.query)) { counts[row.hash, default: 0] += 1 }
            }
            return counts
        }
    }

    func query(includesData: Bool, pageSize: Int = 10) -> StoreQuery {
        var query = StoreQuery()
        query.startTime = Timestamp(nanoseconds: 1)
        query.endTime = Timestamp(nanoseconds: 1_000)
        query.includesData = includesData
        query.pageSize = pageSize
        return query
    }

    @Test(arguments: [0, 1, 9, 10, 11, 20, 25, 100]) func `a store that loses its way after each cursor is listed by time`(count: Int)
        throws
    {
        var store = Store(timestamps: (0..<count).map { Int64($0 + 1) })
        let counts = try store.list(query(includesData: true))
        #expect(counts == Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", 1) }))
        #expect(store.queries.allSatisfy { $0.endTime == Timestamp(nanoseconds: 1_000) })
    }

    @Test func `a listing of hashes continues with data, because hashes have no time`() throws {
        var store = Store(timestamps: (0..<25).map { Int64($0 + 1) })
        let counts = try store.list(query(includesData: false))
        #expect(counts.count == 25)
        #expect(store.queries.prefix(2).allSatisfy { !$0.includesData })
        #expect(store.queries.dropFirst(2).allSatisfy { $0.includesData })
    }

    @Test(arguments: [false, true]) func `a store that knows its way is asked once more at most`(includesData: Bool) throws {
        var store = Store(timestamps: (0..<30).map { Int64($0 + 1) }, losesItsWay: false)
        var counts = try store.list(query(includesData: includesData))
        #expect(counts.count == 30)
        #expect(store.queries.count <= (includesData ? 5 : 9))
        store = Store(timestamps: (0..<25).map { Int64($0 + 1) }, losesItsWay: false)
        counts = try store.list(query(includesData: includesData))
        #expect(counts.count == 25)
        #expect(store.queries.count == 3)
    }

    @Test func `more messages of one time than a page has do not hold up those after them`() throws {
        var store = Store(timestamps: Array(repeating: 5, count: 15) + [6, 7])
        let counts = try store.list(query(includesData: true))
        #expect(counts["15"] == 1 && counts["16"] == 1)
    }

    @Test(arguments: [Int64.min, 0, .max]) func `a time that makes no sense ends the listing`(timestamp: Int64) throws {
        var listing = StoreListing(query(includesData: true))
        let text = #"{"messages":[{"messageHash":"x","message":{"timestamp":\#(timestamp)}}],"paginationCursor":"x"}"#
        let page = try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }.page
        try listing.take(page)
        for _ in 0..<5 where !listing.isComplete {
            try listing.take(StorePage())
            if !listing.isComplete { try listing.take(page) }
        }
        #expect(listing.isComplete || listing.query.startTime.map { $0 >= Timestamp(nanoseconds: 1) } == true)
    }

    @Test(arguments: [1, 2, 3, 7, 100]) func `a cycle of cursors is found without keeping them all`(length: Int) {
        var listing = StoreListing(query(includesData: true))
        var page = StorePage()
        page.rows = [StorePage.Row(hash: "x")]
        var endless = listing
        #expect(throws: Never.self) {
            for number in 0..<10 * length + 10 {
                page.cursor = "\(number)"
                try endless.take(page)
            }
        }
        #expect(throws: StoreListing.Fault.stalled) {
            for number in 0..<10 * length + 10 {
                page.cursor = "\(number % length)"
                try listing.take(page)
            }
        }
    }

    @Test func `a cursor without rows is a fault`() {
        var listing = StoreListing(query(includesData: true))
        var page = StorePage()
        page.cursor = "x"
        #expect(throws: StoreListing.Fault.stalled) { try listing.take(page) }
        page.rows = [StorePage.Row(hash: "x")]
        #expect(throws: Never.self) { try listing.take(page) }
    }

    @Test func `a restart begins at the start of the query`() throws {
        var store = Store(timestamps: (0..<25).map { Int64($0 + 1) })
        var listing = StoreListing(query(includesData: true))
        for _ in 0..<3 { try listing.take(store.page(listing.query)) }
        #expect(listing.query.startTime != Timestamp(nanoseconds: 1))
        listing.restart()
        #expect(listing.query.startTime == Timestamp(nanoseconds: 1) && listing.query.cursor == nil)
        let rows = try listing.take(store.page(listing.query))
        #expect(rows.count == 10)
    }
}
