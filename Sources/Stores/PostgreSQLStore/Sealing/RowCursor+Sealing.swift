import Bytes
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

extension RowCursor {
    /// Reads the next two columns as a value: the first has it in clear, the second sealed.
    mutating func nextValue(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> [UInt8]? {
        let (clear, sealed): ([UInt8]?, [UInt8]?) = (try next(), try next())
        return try sealing.value(sealed, orClear: clear, in: place())
    }

    /// Reads the next two columns as a protobuf message: the first has it in clear, the second sealed.
    mutating func nextMessage<Message: WireMessage>(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> Message {
        try Self.message(try nextValue(sealing, in: place()))
    }

    /// The columns that ``nextTokens(of:_:)`` reads.
    static let tokenColumns = "access_token, device_token, version, secrets"

    /// Reads the tokens of a registration, and its version, from the next four columns.
    mutating func nextTokens(of installation: Installation, _ sealing: RowSealing) throws -> RegistrationTokens {
        let (access, device): (AccessToken?, DeviceToken?) = (try next(), try next())
        let clear = RegistrationTokens(access: access ?? "", device: device ?? "", version: try next())
        return try sealing.open(try next(), orClear: clear, of: installation)
    }

    /// The columns of a push that ``nextPushSecrets(_:in:)`` reads.
    static let pushSecretColumns = "push.device_token, push.chat_id, push.ciphertext, push.notification, push.secrets"

    /// Reads the secrets of an open push from the next five columns.
    mutating func nextPushSecrets(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> PushSecrets {
        let clear = PushSecrets(deviceToken: try next(), chatID: try next(), message: try next(), notification: try next())
        return try sealing.open(try next(), orClear: clear, in: place())
    }

    /// Reads the columns `user_key`, `token`, `secrets`, `voip_token`, `voip_secrets`.
    mutating func nextProxyDeviceSecrets(of identifier: Digest64, _ sealing: RowSealing) throws -> ProxyDeviceSecrets {
        let (userKey, token, secrets): ([UInt8], DeviceToken, [UInt8]?) = (try next(), try next(), try next())
        let clear = ProxyDeviceSecrets(userKey: userKey, token: token, voipToken: try next())
        return try sealing.open(secrets, calls: try next(), orClear: clear, of: identifier)
    }

    /// Reads the columns `subject`, `signature`, `secrets`.
    mutating func nextOriginPushContent(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> OriginPushContent {
        let clear = OriginPushContent(subject: try next(), signature: try next())
        return try sealing.open(try next(), orClear: clear, in: place())
    }
}

extension ListColumn {
    /// The SQL expression for the length of a stored list, sealed or in clear. A sealed list has one field.
    static func byteCount(_ column: String) -> String {
        let overhead = SealingKeys.overheadByteCount + 4
        return "coalesce(octet_length(\(column)), octet_length(sealed_\(column)) - \(overhead), 0)::int8"
    }
}
