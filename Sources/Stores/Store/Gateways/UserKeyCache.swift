import FoundationEssentials
package import ServerCrypto
import StatusCrypto
import Synchronization

/// A cache of users' keys: a user has several devices, and libcrypto keeps precomputed values with a key.
package final class UserKeyCache: Sendable {
    /// Keys take a few kilobytes each. A full cache is simply emptied, because parsing a key takes only a third as long as verifying a
    /// signature.
    private static let maximumCount = 1_024

    private let keys = Mutex<[Data: RSAPublicKey]>([:])

    package init() {}

    package func key(stored der: [UInt8]) throws -> RSAPublicKey {
        let name = Data(der)
        if let key = keys.withLock({ $0[name] }) { return key }
        guard let key = RSAPublicKey(stored: der) else { throw StoreError.damaged }
        keys.withLock { keys in
            if keys.count >= Self.maximumCount { keys = [:] }
            keys[name] = key
        }
        return key
    }
}
