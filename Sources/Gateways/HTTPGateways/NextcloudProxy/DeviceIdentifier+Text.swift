import Bytes
import StatusCrypto
package import Store

// Base64 on the wire (GATEWAY_PROTOCOLS.md §1).
extension DeviceIdentifier {
    /// - Returns: nil unless the text is the base64 of 64 bytes. A space stands for a `+` that a client did not encode.
    package init?(_ text: String) {
        guard let bytes = base64(text), let digest = Digest64(bytes) else { return nil }
        self.init(digest)
    }

    package var text: String { base64(digest.bytes) }
}
