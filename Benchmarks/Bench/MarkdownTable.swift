/// Tables in Markdown, with columns of even width.
enum MarkdownTable {
    /// Returns the text of a table.
    ///
    /// - Parameter rows: The head and the other rows, all with the same number of columns.
    static func text(_ rows: [[String]]) -> String {
        let columnCount = rows.first?.count ?? 0
        let widths = (0..<columnCount).map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { row in
            "| " + zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: " | ") + " |"
        }
        lines.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return lines.joined(separator: "\n")
    }
}
