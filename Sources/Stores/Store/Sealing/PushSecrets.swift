package import Bytes
import Foundation

/// An open push's secrets.
package struct PushSecrets: Sendable {
    package var deviceToken: DeviceToken
    package var chatID: [UInt8]
    /// The encrypted chat message.
    package var message: [UInt8]
    /// A gateway's notification, in JSON, or nil if the push is for a chat message.
    package var notification: [UInt8]?

    package init(deviceToken: DeviceToken = "", chatID: [UInt8] = [], message: [UInt8] = [], notification: [UInt8]? = nil) {
        self.deviceToken = deviceToken
        self.chatID = chatID
        self.message = message
        self.notification = notification
    }

    /// The sealed value's fields.
    package var fields: [[UInt8]?] { [deviceToken.field, chatID, message, notification] }

    /// How long the texts are.
    package var byteCount: Int { message.count + chatID.count + (notification?.count ?? 0) }

    /// Decodes a gateway's notification. Returns nil if the push is for a chat message.
    package func gatewayNotification() throws(StoreError) -> GatewayNotification? {
        guard let notification else { return nil }
        guard let decoded = try? JSONDecoder().decode(GatewayNotification.self, from: Data(notification)) else { throw .damaged }
        return decoded
    }
}

extension RowSealing {
    package func pushSecrets(_ sealed: [UInt8]?, in place: @autoclosure () -> SealedPlace) throws(StoreError) -> PushSecrets {
        let fields = try open(sealed, count: 4, in: place())
        return PushSecrets(
            deviceToken: DeviceToken(field: fields[0]), chatID: fields[1] ?? [], message: fields[2] ?? [], notification: fields[3])
    }
}
