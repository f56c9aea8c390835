package import StatusCrypto

/// (message_id, public_key, installation_id): one message's push to one device (PROTOCOL.md §9).
package enum PushTriple {
    /// SHA-256 over the parts, each after its length in 8 bytes: no two triples run together to the same bytes.
    package static func digest(messageID: [UInt8], publicKey: Digest64, installationID: String) -> Digest32 {
        var material: [UInt8] = []
        append(messageID, to: &material)
        append(publicKey.bytes, to: &material)
        append(Array(installationID.utf8), to: &material)
        return SHA256.hash(material)
    }

    private static func append(_ part: [UInt8], to material: inout [UInt8]) {
        let length = UInt64(part.count)
        for shift in stride(from: 56, through: 0, by: -8) { material.append(UInt8(truncatingIfNeeded: length >> UInt64(shift))) }
        material += part
    }
}
