import CLibCrypto

extension FixedBytes {
    /// Overwrites the bytes in a way that no optimiser leaves out.
    package mutating func wipe() {
        unsafe withUnsafeMutablePointer { unsafe OPENSSL_cleanse($0, count) }
    }
}

extension [UInt8] {
    /// Overwrites the bytes, which nobody else may share: a copy would be wiped in their place.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
