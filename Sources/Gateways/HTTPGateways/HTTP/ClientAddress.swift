package import HTTPClient

/// Resolves a request's client: the peer, or the client that a trusted reverse proxy names (GATEWAY_PROTOCOLS.md §2.6).
package struct ClientAddress: Sendable {
    package var trustedProxies: Set<IPAddress>

    package init(trustedProxies: Set<IPAddress> = []) {
        self.trustedProxies = trustedProxies
    }

    /// - Parameters:
    ///   - peer: The connection's address.
    ///   - forwarded: The values of all `X-Forwarded-For` fields, in their order. A trusted proxy adds the last entry itself.
    /// - Returns: The client, and whether an untrusted proxy forwards the request, whose clients then share a limit.
    package func resolve(peer: IPAddress, forwarded: [String]) -> (client: IPAddress, isUntrustedProxy: Bool) {
        guard let last = forwarded.last?.split(separator: ",").last?.trimmed, !last.isEmpty else { return (peer, false) }
        guard trustedProxies.contains(peer) else { return (peer, true) }
        return (IPAddress(last) ?? peer, false)
    }
}
