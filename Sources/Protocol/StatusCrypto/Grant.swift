package import Bytes

/// A client's permission for a server to hand out an access token (PROTOCOL.md §7).
package enum Grant {
    /// Returns the digest that the client signs: keccak256(compressed client key ‖ compressed server key ‖ access token as text).
    package static func digest(client: PublicKey, server: PublicKey, accessToken: AccessToken) -> Digest32 {
        var sponge = KeccakSponge.keccak256
        sponge.absorb(client.compressed.span)
        sponge.absorb(server.compressed.span)
        sponge.absorb(accessToken.text.utf8Span.span)
        return sponge.squeeze()
    }
}
