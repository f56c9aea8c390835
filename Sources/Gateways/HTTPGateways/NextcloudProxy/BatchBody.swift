/// The entries of `POST /notifications`, unparsed: `notifications[N]=…` and `notifications[]=…` in a form
/// (GATEWAY_PROTOCOLS.md §2.4).
enum BatchBody {
    static let maximumByteCount = 16 << 20
    static let maximumEntryCount = 10_000

    enum Failure: Error, Equatable {
        case unreadable
        case tooManyEntries
        /// The body does not contain entries.
        case noNotifications
    }

    /// Returns the entries, ordered by number. Entries without a number continue the numbering, as in PHP.
    static func read(_ body: [UInt8]) throws(Failure) -> [String] {
        // Each entry is a field, and other fields count too.
        guard let fields = FormFields.read(body, maximumCount: maximumEntryCount + FormFields.maximumCount) else { throw .unreadable }
        var numbered: [(number: Int, value: String)] = []
        var next = 0
        for field in fields {
            guard let number = number(of: field.name) else { continue }
            let place = number ?? next
            next = max(next, place == .max ? place : place + 1)
            numbered.append((place, field.value))
        }
        guard !numbered.isEmpty else { throw .noNotifications }
        guard numbered.count <= maximumEntryCount else { throw .tooManyEntries }
        // The sort is stable: entries with the same number stay in their order.
        return numbered.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }.map(\.element.value)
    }

    /// - Returns: The entry's number, `.some(nil)` for an entry without a number, or nil for another field.
    private static func number(of name: String) -> Int?? {
        guard name.hasPrefix("notifications["), name.hasSuffix("]") else { return nil }
        let digits = name.dropFirst("notifications[".count).dropLast()
        if digits.isEmpty { return .some(nil) }
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(digits) else { return nil }
        return .some(number)
    }
}
