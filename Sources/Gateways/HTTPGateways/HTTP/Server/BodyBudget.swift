import HTTPClient

/// The memory that the bodies of all requests in progress share. When they exceed it, the address that holds most loses its largest body
/// that still arrives or waits, so that clients who send slowly don't take the memory that the others need.
struct BodyBudget: Sendable {
    private struct Holding: Sendable {
        var byteCount = 0
        /// The lengths of bodies that may be cut off, and of those that a gateway works on.
        var arriving: [ObjectIdentifier: Int] = [:]
        var complete: [ObjectIdentifier: Int] = [:]
    }

    private let maximumByteCount: Int
    private var byteCount = 0
    private var holdings: [IPAddress: Holding] = [:]

    init(byteCount: Int) {
        maximumByteCount = byteCount
    }

    /// Counts memory that a body has taken.
    ///
    /// - Returns: The bodies to cut off. They don't count any more.
    mutating func receive(_ count: Int, of body: ObjectIdentifier, from client: IPAddress) -> [ObjectIdentifier] {
        byteCount += count
        holdings[client.limited, default: Holding()].byteCount += count
        holdings[client.limited]?.arriving[body, default: 0] += count
        var cutOff: [ObjectIdentifier] = []
        while byteCount > maximumByteCount, let (client, body) = victim {
            end(body, from: client)
            cutOff.append(body)
        }
        return cutOff
    }

    /// Tells that a gateway works on a body, which is no longer cut off.
    mutating func complete(_ body: ObjectIdentifier, from client: IPAddress) {
        guard let count = holdings[client.limited]?.arriving.removeValue(forKey: body) else { return }
        holdings[client.limited]?.complete[body] = count
    }

    /// Frees a body's memory.
    mutating func end(_ body: ObjectIdentifier, from client: IPAddress) {
        guard var holding = holdings[client.limited],
            let count = holding.arriving.removeValue(forKey: body) ?? holding.complete.removeValue(forKey: body)
        else { return }
        byteCount -= count
        holding.byteCount -= count
        holdings[client.limited] = holding.arriving.isEmpty && holding.complete.isEmpty ? nil : holding
    }

    private var victim: (IPAddress, ObjectIdentifier)? {
        let candidates = holdings.lazy.filter { !$0.value.arriving.isEmpty }
        guard let (client, holding) = candidates.max(by: { $0.value.byteCount < $1.value.byteCount }),
            let (body, _) = holding.arriving.max(by: { $0.value < $1.value })
        else { return nil }
        return (client, body)
    }
}
