package import HTTPClient

/// Who a request comes from: the peer, unless that is a proxy of the operator's (GATEWAY_PROTOCOLS.md §2.6).
package struct ClientAddress: Sendable {
    package var trustedProxies: Set<IPAddress>

    package init(trustedProxies: Set<IPAddress> = []) {
        self.trustedProxies = trustedProxies
    }

    /// - Parameters:
    ///   - forwarded: the values of all `X-Forwarded-For` fields, in their order. Of a trusted proxy's the last entry is the one that it
    ///     added itself.
    ///   - Returns: the client, and whether somebody else forwards for others, who then share one limit.
    package func resolve(peer: IPAddress, forwarded: [String]) -> (client: IPAddress, isUntrustedProxy: Bool) {
        guard let last = forwarded.last?.split(separator: ",").last?.trimmed, !last.isEmpty else { return (peer, false) }
        guard trustedProxies.contains(peer) else { return (peer, true) }
        return (IPAddress(last) ?? peer, false)
    }
}
