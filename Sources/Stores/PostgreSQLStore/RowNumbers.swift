import Store

/// The numbers that PostgreSQL gives to rows.
enum RowNumbers {
    /// The tables with numbered rows, and the columns of the numbers.
    private static let tables = [("server", "number")] + CopiedTable.all.filter(\.isNumbered).map { ($0.name, "id") }

    /// Raises each sequence that is behind its table. A logical copy of a database brings the rows without the sequences' positions, and
    /// then each new row would get the number of an old one.
    ///
    /// - Returns: The tables whose sequences were behind.
    static func raise(_ database: Transaction) throws -> [String] {
        try tables.filter { table, column in
            // The sequence of an identity column has this name.
            let sequence = "\(table)_\(column)_seq"
            let isBehind = """
                SELECT coalesce(max(\(column)), 0) > (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM \(sequence)) FROM \(table)
                """
            guard try database.first(isBehind, read: { try $0.next(Bool.self) }) == true else { return false }
            // Nobody inserts meanwhile, and a sequence never goes back.
            database.add("LOCK TABLE \(table) IN SHARE ROW EXCLUSIVE MODE")
            database.add(
                "SELECT setval('\(sequence)', greatest((SELECT max(\(column)) FROM \(table)), (SELECT last_value FROM \(sequence))))")
            return true
        }.map(\.0)
    }
}
