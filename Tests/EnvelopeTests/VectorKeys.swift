import Bytes
import StatusCrypto
import TestSupport

extension HexBytes {
    struct WrongLength: Error {}

    func privateKey() throws -> PrivateKey {
        guard let bytes = FixedBytes<32>(bytes) else { throw WrongLength() }
        return try PrivateKey(bytes)
    }

    func symmetricKey() throws -> SymmetricKey {
        guard let bytes = FixedBytes<32>(bytes) else { throw WrongLength() }
        return SymmetricKey(bytes)
    }
}

extension SymmetricKey {
    var exposed: [UInt8] { withExposedBytes { [UInt8](copying: $0) } }
}
