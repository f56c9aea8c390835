import Bytes
import StatusCrypto

/// An identifier that Apple, Google and phones may see: half a SHA-256 in hex, which does not reveal its input.
enum ShortDigest {
    /// APNs takes up to 64 bytes for a `collapse_id` (GORUSH.md §3).
    static let byteCount = 32

    static func of(_ bytes: [UInt8]) -> String {
        Hex.encode(Array(SHA256.hash(bytes).bytes.prefix(byteCount / 2)))
    }
}
