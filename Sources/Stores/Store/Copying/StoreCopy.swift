package import Bytes
import StatusCrypto

/// A page of rows.
package struct CopiedRows: Sendable {
    /// Each row's values in column order.
    package var rows: [[CopiedValue]]
    /// The last row's position, or nil if no row follows.
    package var position: [CopiedValue]?

    package init(_ rows: [(position: [CopiedValue], values: [CopiedValue])], limit: Int) {
        self.rows = rows.map(\.values)
        position = rows.count < limit ? nil : rows.last?.position
    }
}

/// The values that exist only once in a database.
package struct CopiedDatabase: Sendable {
    /// The compressed public key.
    package var identity: FixedBytes<33>
    /// The key that seals new values, and whether no value of another key remains.
    package var sealing: (keyID: Int64, isComplete: Bool)
    /// The last number that each numbered table has given to a row, because numbers are never reused.
    package var lastNumbers: [String: Int64]

    package init(identity: FixedBytes<33>, sealing: (keyID: Int64, isComplete: Bool), lastNumbers: [String: Int64]) {
        (self.identity, self.sealing, self.lastNumbers) = (identity, sealing, lastNumbers)
    }
}

/// Copies all rows into a different kind of store.
package enum StoreCopy {
    /// A transaction of this size takes less than 100 ms.
    private static let pageRowCount = 1_000

    /// Copies all rows, compares the databases and completes the destination.
    ///
    /// - Parameters:
    ///   - destination: A store without rows.
    ///   - beforeCompleting: Marks the source as moved. A server starts on the source before that, and on the destination after it, and at
    ///     no time on both.
    ///   - report: Receives the rows of a table that are copied, and their total. If it throws, the destination stays incomplete.
    /// - Returns: The row count per table.
    /// - Throws: `StoreError`. ``CopyDifference`` if the databases differ. The destination is incomplete then.
    package static func run(
        from source: any CopyableStore, to destination: any CopyableStore, beforeCompleting: () async throws -> Void = {},
        report: (_ table: String, _ done: Int, _ total: Int) throws -> Void
    ) async throws -> [String: Int] {
        let database = try await source.copiedDatabase()
        for table in CopiedTable.all {
            let total = try await source.rowCount(of: table)
            var (done, position) = (0, [CopiedValue]?.none)
            repeat {
                let page = try await source.rows(of: table, after: position, limit: pageRowCount)
                try await destination.insert(page.rows, into: table)
                (done, position) = (done + page.rows.count, page.position)
                try report(table.name, done, total)
            } while position != nil
        }
        let rowCounts = try await compare(source, with: destination)
        try await beforeCompleting()
        try await destination.complete(database)
        return rowCounts
    }

    /// Compares the tables' row counts and the audits' facts.
    private static func compare(_ source: any CopyableStore, with copy: any CopyableStore) async throws -> [String: Int] {
        var rowCounts: [String: Int] = [:]
        for table in CopiedTable.all {
            let (expected, count) = (try await source.rowCount(of: table), try await copy.rowCount(of: table))
            guard count == expected else { throw CopyDifference(description: "\(table.name) has \(count) rows instead of \(expected)") }
            rowCounts[table.name] = count
        }
        var facts = [try await source.auditFacts(), try await copy.auditFacts()]
        // Not every store counts the rows that were ever inserted, or has several servers.
        for index in facts.indices {
            (facts[index].messageRowsEver, facts[index].pushRowsEver, facts[index].servers) = (nil, nil, [:])
            // A copy reads the damaged rows again.
            facts[index].setAside = []
        }
        guard facts[0] == facts[1] else { throw CopyDifference(description: "the audits of both databases find different numbers") }
        return rowCounts
    }
}

/// The error when a copy does not equal its source.
package struct CopyDifference: Error, CustomStringConvertible {
    package let description: String
}
