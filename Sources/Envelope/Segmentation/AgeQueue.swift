/// A queue whose elements may leave from anywhere: each gets a ticket, and tickets are called in order.
///
/// Joining and leaving are one dictionary operation each. Looking for the oldest steps over the tickets of those that left, each of
/// them once.
struct AgeQueue<Element: Sendable>: Sendable {
    typealias Ticket = UInt64

    private var elements: [Ticket: Element] = [:]
    private var oldestTicket: Ticket = 0
    private var nextTicket: Ticket = 0

    mutating func append(_ element: Element) -> Ticket {
        defer { nextTicket += 1 }
        elements[nextTicket] = element
        return nextTicket
    }

    mutating func remove(_ ticket: Ticket) {
        elements[ticket] = nil
    }

    /// The element that has waited longest; it stays.
    mutating func oldest() -> Element? {
        guard !elements.isEmpty else { return nil }
        while elements[oldestTicket] == nil { oldestTicket += 1 }
        return elements[oldestTicket]
    }
}
