package import StatusCrypto

/// What a client signs to let this server, and only this one, notify it (PROTOCOL.md §7).
package enum Grant {
    /// `R‖S‖V`.
    package static let byteCount = 65

    /// The bytes whose keccak256 the client signs: `client(33) ‖ server(33) ‖ access token in ASCII`.
    ///
    /// - Parameters:
    ///   - client: compressed public key of the client.
    ///   - server: compressed public key of the server.
    ///   - accessToken: as the client sent it: case and form count.
    package static func material(client: FixedBytes<33>, server: FixedBytes<33>, accessToken: String) -> [UInt8] {
        client.bytes + server.bytes + Array(accessToken.utf8)
    }

    /// Whether these are 65 bytes with V 0 or 1: what can be told without curve arithmetic.
    package static func isWellFormed(_ grant: [UInt8]) -> Bool {
        grant.count == byteCount && grant[byteCount - 1] <= 1
    }
}
