import CLibCrypto

extension FixedBytes {
    /// Overwrites the bytes in a way that no optimiser removes.
    package mutating func wipe() {
        unsafe withUnsafeMutablePointer { unsafe OPENSSL_cleanse($0, count) }
    }
}

extension [UInt8] {
    /// Overwrites the bytes of an array without other references: otherwise a copy would be wiped instead.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
