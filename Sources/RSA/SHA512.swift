import CLibCrypto
package import StatusCrypto

/// SHA-512 of whole messages.
package enum SHA512 {
    package static func hash(_ bytes: [UInt8]) -> Digest64 {
        var digest = Digest64()
        let isHashed = unsafe digest.withUnsafeMutablePointer { digest in
            unsafe bytes.withUnsafeBytes { unsafe EVP_Digest($0.baseAddress, $0.count, digest, nil, LibCryptoRSA.sha512, nil) == 1 }
        }
        // It fails only without memory, which ends the process as it does in Swift's own allocations.
        guard isHashed else { fatalError("libcrypto failed") }
        return digest
    }
}

/// What of libcrypto is looked up once.
enum LibCryptoRSA {
    // Set once, before anybody can read it, and what it points to never changes; its reference count is atomic.
    nonisolated(unsafe) static let sha512: OpaquePointer = {
        // Nil means an installation in which nothing here can work.
        guard let digest = unsafe EVP_MD_fetch(nil, "SHA2-512", nil) else { fatalError("libcrypto lacks SHA2-512") }
        return unsafe digest
    }()
}
