import Bytes
import FoundationEssentials
import Store

/// Device tokens as the app's reporter shows them: base64 of any flavour, or what Apple and Google gave (GATEWAY_PROTOCOLS.md §5).
extension DeviceToken {
    private static let apnsDigitCounts = 64...200
    private static let apnsByteCounts = 32...100
    private static let fcmByteCounts = 32...4_096

    /// Decodes a token into the form of Apple or Google.
    ///
    /// - Returns: The token, or nil for a text in another form.
    static func decode(_ text: String, for platform: GatewayNotification.Platform) -> DeviceToken? {
        switch platform {
        case .ios:
            // First: 64 digits of hex are base64, too.
            if apnsDigitCounts.contains(text.utf8.count), text.utf8.allSatisfy(Hex.isDigit) { return DeviceToken(text.lowercased()) }
            guard let bytes = base64(text), apnsByteCounts.contains(bytes.count) else { return nil }
            return DeviceToken(Hex.encode(bytes))
        case .android:
            guard !text.isEmpty, text.utf8.count <= fcmByteCounts.upperBound else { return nil }
            guard let bytes = base64(text), let decoded = String(validating: bytes, as: UTF8.self), isFCM(decoded) else {
                return DeviceToken(text)
            }
            return DeviceToken(decoded)
        }
    }

    private static func base64(_ text: String) -> [UInt8]? {
        var standard = text.replacing("-", with: "+").replacing("_", with: "/")
        while standard.hasSuffix("=") { standard.removeLast() }
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard).map { [UInt8]($0) }
    }

    /// Google's tokens have a colon, which base64 has not.
    private static func isFCM(_ text: String) -> Bool {
        fcmByteCounts.contains(text.utf8.count) && text.contains(":")
            && text.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "0"..."9", "a"..."z", "A"..."Z", "_", ":", ".", "-": true
                default: false
                }
            }
    }
}
