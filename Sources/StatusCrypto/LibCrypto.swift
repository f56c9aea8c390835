import CLibCrypto

/// The algorithms of libcrypto, looked up once: a lookup for each call would take locks and more time than hashing a short message.
///
/// Safe to share: a fetched algorithm never changes, and its reference count, which contexts raise and drop, is atomic.
package enum LibCrypto {
    // Safe without isolation, all four: each is set once, by Swift's own lock, before anybody can read it, and what it points to never
    // changes (see above).
    nonisolated(unsafe) static let sha256 = unsafe fetchDigest("SHA2-256")
    package nonisolated(unsafe) static let sha512 = unsafe fetchDigest("SHA2-512")
    nonisolated(unsafe) static let aes256GCM = unsafe fetchCipher("AES-256-GCM")
    nonisolated(unsafe) static let aes128CTR = unsafe fetchCipher("AES-128-CTR")

    /// For calls whose only failure is a lack of memory, which ends the process as it does in Swift's own allocations.
    package static func require(_ status: Int32) {
        guard status == 1 else { fatalError("libcrypto failed") }
    }

    /// The same for calls that return an object: nil only without memory.
    package static func require(_ handle: OpaquePointer?) -> OpaquePointer {
        guard let handle = unsafe handle else { fatalError("libcrypto has no memory") }
        return unsafe handle
    }

    // Nil means an installation in which nothing here can work: the process ends at the first use, which no peer chooses.
    private static func fetchDigest(_ name: String) -> OpaquePointer {
        guard let digest = unsafe EVP_MD_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe digest
    }

    // As above.
    private static func fetchCipher(_ name: String) -> OpaquePointer {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe cipher
    }
}
