import Bytes
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

extension RowCursor {
    /// Reads the next column as a sealed value, or nil for NULL.
    mutating func nextValue(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> [UInt8]? {
        try sealing.value(next(), in: place())
    }

    /// Reads the next column as a sealed protobuf message. NULL gives an empty message.
    mutating func nextMessage<Message: WireMessage>(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> Message {
        try Self.message(try nextValue(sealing, in: place()))
    }

    /// The columns that ``nextTokens(of:_:)`` reads.
    static let tokenColumns = "version, secrets"

    /// Reads a registration's tokens, and its version, from the next two columns.
    mutating func nextTokens(of installation: Installation, _ sealing: RowSealing) throws -> RegistrationTokens {
        let version: UInt64 = try next()
        return try sealing.registrationTokens(next(), of: installation, version: version)
    }

    /// Reads the columns `secrets`, `voip_secrets`.
    mutating func nextProxyDeviceSecrets(of identifier: Digest64, _ sealing: RowSealing) throws -> ProxyDeviceSecrets {
        try sealing.proxyDeviceSecrets(next(), calls: next(), of: identifier)
    }
}

extension ListColumn {
    /// The SQL expression for a stored list's length, which is sealed as one field.
    static func byteCount(_ column: String) -> String {
        "coalesce(octet_length(\(column)) - \(SealingKeys.overheadByteCount + 4), 0)::int8"
    }
}
