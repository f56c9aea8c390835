package import HTTPClient

/// Resolves a request's client: the peer, or the client that a trusted reverse proxy names (GATEWAY_PROTOCOLS.md §2.6).
package struct ClientAddress: Sendable {
    /// Why everybody behind a proxy shares the limits of its address.
    package enum Fault: Sendable {
        /// The proxy that forwards the request is not trusted.
        case untrustedProxy
        /// A trusted proxy names its client in a form that nobody can read.
        case unreadable
    }

    package var trustedProxies: Set<IPAddress>

    package init(trustedProxies: Set<IPAddress> = []) {
        self.trustedProxies = trustedProxies
    }

    /// - Parameters:
    ///   - peer: The connection's address.
    ///   - forwarded: The values of all `X-Forwarded-For` fields, in their order. A trusted proxy adds the last entry itself.
    package func resolve(peer: IPAddress, forwarded: [String]) -> (client: IPAddress, fault: Fault?) {
        guard let last = forwarded.last?.split(separator: ",").last?.trimmed, !last.isEmpty else { return (peer, nil) }
        guard trustedProxies.contains(peer) else { return (peer, .untrustedProxy) }
        guard let client = Self.address(last) else { return (peer, .unreadable) }
        return (client, nil)
    }

    /// Reads an entry, to which proxies add a port, a zone, brackets or quotes.
    private static func address(_ entry: String) -> IPAddress? {
        var text = entry[...]
        if text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        if text.hasPrefix("["), let end = text.lastIndex(of: "]") {
            guard isPort(text[end...].dropFirst()) else { return nil }
            text = text[..<end].dropFirst()
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            guard isPort(text[colon...]) else { return nil }
            text = text[..<colon]
        }
        return IPAddress(text.prefix { $0 != "%" })
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.hasPrefix(":") && UInt16(text.dropFirst()) != nil
    }
}
