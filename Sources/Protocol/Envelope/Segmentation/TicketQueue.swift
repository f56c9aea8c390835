/// A queue whose elements may leave at any position. Each element has a ticket. Tickets rise with age.
///
/// Joining and leaving each take a single dictionary operation. A search for the oldest element skips the tickets of elements that left,
/// each ticket once.
struct TicketQueue<Element: Sendable>: Sendable {
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

    /// Returns the oldest element without removing it.
    mutating func oldest() -> Element? {
        guard !elements.isEmpty else { return nil }
        while elements[oldestTicket] == nil { oldestTicket += 1 }
        return elements[oldestTicket]
    }
}
