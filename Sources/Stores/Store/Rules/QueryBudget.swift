import PushProtocol

/// Chooses the registrations whose lists go into the answer to a query. Other lists are not read, because untrusted clients can send any
/// number of queries.
package struct QueryBudget: Sendable {
    private var byteCount = 0

    package init() {}

    /// Chooses registrations of the next key in their order.
    ///
    /// - Parameters:
    ///   - registrations: The key's live registrations, with the sizes of their lists.
    ///   - credits: The bytes that the key may still be answered with.
    /// - Returns: The rows to read, or nil if another key no longer fits into the answer.
    package mutating func choose(among registrations: [(row: Int64, byteCount: Int)], credits: Int) -> [Int64]? {
        guard byteCount <= ProtocolLimits.maximumAnswerByteCount else { return nil }
        var allowed = min(credits, ProtocolLimits.maximumAnswerByteCount)
        return registrations.compactMap { row, size in
            guard size <= allowed else { return nil }
            allowed -= size
            byteCount += size
            return row
        }
    }
}
