import GatewayHTTP

/// The entries of `POST /notifications`, not looked at: `notifications[N]=…` and `notifications[]=…` in a form
/// (GATEWAY_PROTOCOLS.md §2.4).
enum BatchBody {
    static let maximumByteCount = 16 << 20
    static let maximumEntryCount = 10_000

    enum Failure: Error, Equatable {
        case unreadable
        case tooManyEntries
        /// Not one entry.
        case noNotifications
    }

    /// In the order of their numbers; those without one come last, as PHP numbers them on.
    static func read(_ body: [UInt8]) throws(Failure) -> [String] {
        // One field each. What else there is, is counted with them.
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
        // Stable: of two with one number the first stays first.
        return numbered.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }.map(\.element.value)
    }

    /// - Returns: nil for another field; `.some(nil)` for one without a number.
    private static func number(of name: String) -> Int?? {
        guard name.hasPrefix("notifications["), name.hasSuffix("]") else { return nil }
        let digits = name.dropFirst("notifications[".count).dropLast()
        if digits.isEmpty { return .some(nil) }
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(digits) else { return nil }
        return .some(number)
    }
}
