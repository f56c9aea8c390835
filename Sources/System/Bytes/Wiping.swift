import CryptoLibrary

extension FixedBytes {
    /// Overwrites the bytes in a way that no optimiser removes.
    package mutating func wipe() {
        unsafe withUnsafeMutablePointer { unsafe CryptoLibrary.wipe($0, count: count) }
    }
}

extension [UInt8] {
    /// Overwrites the array's bytes. There must be no other reference to it, because otherwise a copy would be wiped instead.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { unsafe CryptoLibrary.wipe($0.baseAddress, count: $0.count) }
    }
}
