import Bytes
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import Wire

extension RowCursor {
    /// The columns that ``nextTokens(of:_:)`` reads.
    static let tokenColumns = "version, secrets"

    /// Reads a registration's tokens, and its version, from the next two columns.
    mutating func nextTokens(of installation: Installation, _ sealing: RowSealing) throws -> RegistrationTokens {
        let version: UInt64 = try next()
        return try sealing.registrationTokens(next(), of: installation, version: version)
    }
}

extension ListColumn {
    /// The SQL expression for a stored list's length, which is sealed as one field.
    static func byteCount(_ column: String) -> String {
        "coalesce(octet_length(\(column)) - \(SealingKeys.overheadByteCount + 4), 0)::int8"
    }
}
