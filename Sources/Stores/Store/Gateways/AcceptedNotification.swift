package import Bytes
package import Envelope
import StatusCrypto

/// A notification that a gateway has accepted and that enters the outbox.
package struct AcceptedNotification: HoldsSecret, Sendable, Equatable {
    package let notification: GatewayNotification
    /// The notification as it is stored.
    package let content: [UInt8]
    /// The SHA-256 over the parts that a repeated notification has too. The store merges notifications with the same digest.
    package var digest: Digest32
    /// The identifier of the token's device, or empty if no device is stored.
    package var owner: [UInt8]
    /// The monotonic time at which the push is due, because its device has got many. Nil means now.
    package var due: Timestamp?

    package init(_ notification: GatewayNotification, digest: Digest32, owner: [UInt8] = []) {
        self.notification = notification
        content = notification.json
        self.digest = digest
        self.owner = owner
    }
}
