import Bytes
import CLibCrypto

/// The algorithms of libcrypto, fetched once: a fetch in each call would take locks and more time than hashing a short message.
///
/// Sharing them is safe: a fetched algorithm never changes, and its reference count, which contexts raise and drop, is atomic.
package enum LibCrypto {
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    package nonisolated(unsafe) static let sha256 = unsafe fetchDigest("SHA2-256")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    package nonisolated(unsafe) static let sha512 = unsafe fetchDigest("SHA2-512")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    package nonisolated(unsafe) static let aes256GCM = unsafe fetchCipher("AES-256-GCM")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    package nonisolated(unsafe) static let aes128CTR = unsafe fetchCipher("AES-128-CTR")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    package nonisolated(unsafe) static let chaCha20Poly1305 = unsafe fetchCipher("ChaCha20-Poly1305")

    /// Checks calls that fail only without memory. The process then ends, as in Swift's own allocations.
    package static func require(_ status: Int32) {
        guard status == 1 else { fatalError("libcrypto failed") }
    }

    /// Checks calls that return an object, or nil only without memory.
    package static func require(_ handle: OpaquePointer?) -> OpaquePointer {
        guard let handle = unsafe handle else { fatalError("libcrypto has no memory") }
        return unsafe handle
    }

    // Ending the process is right: nil means an unusable installation, which no peer can cause.
    private static func fetchDigest(_ name: String) -> OpaquePointer {
        guard let digest = unsafe EVP_MD_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe digest
    }

    // Ending the process is right: nil means an unusable installation, which no peer can cause.
    private static func fetchCipher(_ name: String) -> OpaquePointer {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe cipher
    }
}
