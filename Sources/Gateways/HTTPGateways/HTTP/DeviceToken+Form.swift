import Bytes
import PushProtocol

extension DeviceToken {
    /// A token's length. Google specifies no grammar. These are the lengths of real tokens, with a margin.
    private static let fcmByteCounts = 32...ProtocolLimits.maximumDeviceTokenByteCount

    /// Whether the text is hex as long as Apple's tokens.
    static func isAPNs(_ text: some StringProtocol) -> Bool {
        ProtocolLimits.apnDeviceTokenDigitCounts.contains(text.utf8.count) && text.utf8.count.isMultiple(of: 2)
            && text.utf8.allSatisfy(Hex.isDigit)
    }

    /// Whether the text looks like Google's tokens.
    static func isFCM(_ text: String) -> Bool {
        fcmByteCounts.contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "0"..."9", "a"..."z", "A"..."Z", "_", ":", ".", "-": true
                default: false
                }
            }
    }
}
