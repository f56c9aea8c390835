import Bytes
import FoundationEssentials
import StatusCrypto
package import Store

// Base64 on the wire (GATEWAY_PROTOCOLS.md §1).
extension DeviceIdentifier {
    /// - Returns: nil unless the text is the base64 of 64 bytes. A space stands for a `+` that a client did not encode.
    package init?(_ text: String) {
        guard let bytes = base64(text), let digest = Digest64(bytes) else { return nil }
        self.init(digest)
    }

    package var text: String { Data(digest.bytes).base64EncodedString() }
}

/// Decodes standard base64 with padding. Spaces stand for `+`.
func base64(_ text: String) -> [UInt8]? {
    if let data = Data(base64Encoded: text) { return [UInt8](data) }
    guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
    // `replacing` takes longer than the signature that the text may be.
    let standard = text.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }
    return Data(base64Encoded: Data(standard)).map { [UInt8]($0) }
}
