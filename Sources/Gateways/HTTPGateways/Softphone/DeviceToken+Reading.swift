import Bytes
import FoundationEssentials
import PushProtocol
import Store

/// Device tokens as the app's reporter shows them: base64 of any flavour, or what Apple and Google gave (GATEWAY_PROTOCOLS.md §5).
extension DeviceToken {
    /// Decodes a token into the form of Apple or Google.
    ///
    /// - Returns: The token, or nil for a text in another form.
    static func decode(_ text: String, for platform: GatewayNotification.Platform) -> DeviceToken? {
        switch platform {
        case .ios:
            // First: 64 digits of hex are base64, too.
            if isAPNs(text) { return DeviceToken(text.lowercased()) }
            guard let digits = base64(text).map({ Hex.encode($0) }), isAPNs(digits) else { return nil }
            return DeviceToken(digits)
        case .android:
            guard !text.isEmpty, text.utf8.count <= ProtocolLimits.maximumDeviceTokenByteCount else { return nil }
            // Google's tokens have a colon, which base64 has not.
            guard let bytes = base64(text), let decoded = String(validating: bytes, as: UTF8.self), decoded.contains(":"), isFCM(decoded)
            else {
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
}
