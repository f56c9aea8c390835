package import Bytes
import StatusCrypto

/// The key (message_id, public_key, installation_id): a message's push to a device (PROTOCOL.md §9).
package enum DeduplicationKey {
    /// Returns SHA-256 over the parts, each after its length in 8 bytes, so that no two keys have the same bytes.
    package static func digest(messageID: [UInt8], installation: Installation) -> Digest32 {
        var hash = SHA256()
        append(messageID.span, to: &hash)
        append(installation.keyHash.span, to: &hash)
        append(installation.installationID.utf8Span.span, to: &hash)
        return hash.finalize()
    }

    private static func append(_ part: Span<UInt8>, to hash: inout SHA256) {
        var length = FixedBytes<8>()
        for index in 0..<8 { length[index] = UInt8(truncatingIfNeeded: part.count >> (56 - 8 * index)) }
        hash.update(length.span)
        hash.update(part)
    }
}
