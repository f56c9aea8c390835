import CryptoLibrary

extension LibCrypto {
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) static let sha512 = unsafe fetchDigest("SHA2-512")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) static let chaCha20Poly1305 = unsafe fetchCipher("ChaCha20-Poly1305")
}
