import Bytes
import StatusCrypto
import TestSupport
import Testing

extension HexBytes {
    /// - Throws: `WrongLength` if the vector has another length.
    func fixed<let count: Int>() throws -> FixedBytes<count> {
        guard let fixed = FixedBytes<count>(bytes) else { throw WrongLength() }
        return fixed
    }

    func privateKey() throws -> PrivateKey { try PrivateKey(fixed()) }

    func symmetricKey() throws -> SymmetricKey { SymmetricKey(try fixed()) }
}

extension SecretBytes {
    var exposed: [UInt8] { withExposedBytes { [UInt8](copying: $0) } }
}

extension PrivateKey {
    var exposed: [UInt8] { withExposedBytes { [UInt8](copying: $0) } }
}

struct WrongLength: Error {}
