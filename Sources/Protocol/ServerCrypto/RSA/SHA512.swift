package import Bytes
import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// SHA-512 of whole messages.
package enum SHA512 {
    package static func hash(_ bytes: [UInt8]) -> Digest64 {
        var digest = Digest64()
        unsafe digest.withUnsafeMutablePointer { digest in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe LibCrypto.require(EVP_Digest(bytes.baseAddress, bytes.count, digest, nil, LibCrypto.sha512, nil))
            }
        }
        return digest
    }
}
