import HTTPClient

/// Bounds the long batches that the proxy works on, which take several times their bodies' memory. A batch holds a slot from its last byte
/// until the response: a client that still sends holds nothing that others wait for.
struct BatchSlots: Sendable {
    /// The number of slots: bodies of at most 16 MiB each.
    static let count = 8
    /// Slots per address. A server sends its batches in turn.
    static let countForAddress = 2
    /// Bodies up to this length don't need a slot. It is enough for about 25 notifications, as for all devices of a user.
    static let maximumUnslottedByteCount = 32 << 10

    private var takenCount = 0
    private var taken: [IPAddress: Int] = [:]

    /// Takes a slot.
    ///
    /// - Returns: Whether a slot was free for the client.
    mutating func take(for client: IPAddress) -> Bool {
        let own = taken[client.limited, default: 0]
        guard takenCount < Self.count, own < Self.countForAddress else { return false }
        takenCount += 1
        taken[client.limited] = own + 1
        return true
    }

    /// Returns the client's slot.
    mutating func release(_ client: IPAddress) {
        takenCount -= 1
        let own = taken[client.limited, default: 0]
        taken[client.limited] = own > 1 ? own - 1 : nil
    }
}
