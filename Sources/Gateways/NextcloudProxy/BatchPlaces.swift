import HTTPClient

/// Places for long batches, from the first byte of the body to the answer: so many bodies are in memory at a time.
///
/// A body may come as slowly as somebody likes, so an address has few places, and a short batch needs none.
struct BatchPlaces: Sendable {
    /// Bodies of 16 MiB.
    static let count = 8
    /// A server sends one batch after the other.
    static let countForAddress = 2
    /// Some twenty-five notifications, as for all devices of a user; as much as a device's body may have.
    static let longestWithoutPlace = 32 << 10

    private var takenCount = 0
    private var taken: [IPAddress: Int] = [:]

    /// - Returns: false: there is none.
    mutating func take(for client: IPAddress) -> Bool {
        let own = taken[client.limited, default: 0]
        guard takenCount < Self.count, own < Self.countForAddress else { return false }
        takenCount += 1
        taken[client.limited] = own + 1
        return true
    }

    mutating func leave(_ client: IPAddress) {
        takenCount -= 1
        let own = taken[client.limited, default: 0]
        taken[client.limited] = own > 1 ? own - 1 : nil
    }
}
