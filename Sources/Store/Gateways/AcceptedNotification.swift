package import StatusCrypto

/// A notification that a gateway has answered for: it is delivered, or it ends as the ledger says.
package struct AcceptedNotification: Sendable, Equatable {
    package let notification: GatewayNotification
    /// The same as it is stored.
    package let content: [UInt8]
    /// What makes it the same as another one: SHA-256 of whatever its sender would repeat.
    package var digest: Digest32
    /// Who loses the token if Apple or Google call it dead; empty: nobody who is stored.
    package var owner: [UInt8]

    package init(_ notification: GatewayNotification, digest: Digest32, owner: [UInt8] = []) {
        self.notification = notification
        content = notification.json
        self.digest = digest
        self.owner = owner
    }
}
