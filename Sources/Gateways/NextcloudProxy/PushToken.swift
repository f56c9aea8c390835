import StatusCrypto

/// What a device gives as its `pushToken` (GATEWAY_PROTOCOLS.md §2.2).
package enum PushToken: Sendable, Equatable {
    /// Lower-case hex. Talk for iOS sends a second one, for calls, behind a space.
    case apns(normal: String, voip: String?)
    case fcm(String)

    /// Hexadecimal digits; Apple fixes no length.
    private static let apnsDigitCounts = 64...200
    /// Google fixes no grammar: what tokens look like.
    private static let fcmByteCounts = 32...4_096

    /// - Returns: nil for what is a token of neither Apple nor Google.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        if parts.count <= 2, parts.allSatisfy(Self.isAPNs) {
            self = .apns(normal: parts[0].lowercased(), voip: parts.count == 2 ? parts[1].lowercased() : nil)
        } else if Self.isFCM(text) {
            self = .fcm(text)
        } else {
            return nil
        }
    }

    private static func isAPNs(_ text: Substring) -> Bool {
        apnsDigitCounts.contains(text.utf8.count) && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy(Hex.isDigit)
    }

    private static func isFCM(_ text: String) -> Bool {
        fcmByteCounts.contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "0"..."9", "a"..."z", "A"..."Z", "_", ":", ".", "-": true
                default: false
                }
            }
    }
}
