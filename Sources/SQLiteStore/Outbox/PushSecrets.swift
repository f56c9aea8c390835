import GRDB
import StatusCrypto
import Store

/// The secrets of an open push.
struct PushSecrets {
    /// The columns that ``RowCursor/nextPushSecrets(_:in:)`` reads.
    static let columns = "push.device_token, push.chat_id, push.ciphertext, push.notification, push.secrets"

    var deviceToken: DeviceToken = ""
    var chatID: [UInt8] = []
    /// The encrypted chat message.
    var message: [UInt8] = []
    /// The notification of a gateway, in JSON; nil for a push of a chat message.
    var notification: [UInt8]?

    /// The fields of the sealed value.
    var fields: [[UInt8]?] { [deviceToken.field, chatID, message, notification] }
}

extension RowCursor {
    /// Reads the secrets of an open push from the next five columns.
    mutating func nextPushSecrets(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> PushSecrets {
        let clear = PushSecrets(deviceToken: try next(), chatID: try next(), message: try next(), notification: try next())
        guard let fields = try sealing.open(try next(), count: 4, in: place()) else { return clear }
        return PushSecrets(
            deviceToken: DeviceToken(field: fields[0]), chatID: fields[1] ?? [], message: fields[2] ?? [], notification: fields[3])
    }
}
