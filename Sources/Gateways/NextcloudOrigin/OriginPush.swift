import Envelope
import GatewayHTTP
import StatusCrypto
import Store

extension OriginPush {
    /// Nobody answers a call after a minute; everything else is worth a day, as to a phone that was off.
    private static let callLifetime = Duration.seconds(60)
    private static let lifetime = Duration.seconds(24 * 3_600)

    /// - Parameter key: the user's.
    /// - Returns: nil for a payload that is longer than a block of the device's key.
    init?(_ payload: Payload, to device: OriginDevice, signedBy key: RSAPrivateKey, padding: RSAPadding, at now: Timestamp) {
        guard let block = device.publicKey.encrypt(Array(payload.json.utf8), padding: padding) else { return nil }
        self.init(
            tokenID: device.tokenID, subject: base64(block), signature: base64(key.signature(of: block)), priority: payload.priority,
            kind: payload.kind, expiresAt: now.advanced(by: payload.kind == .voip ? Self.callLifetime : Self.lifetime))
    }
}

extension WaitingOriginPush {
    /// One entry of `POST /notifications`, as PHP writes it.
    var entry: String {
        """
        {"deviceIdentifier":\(PHPJSON.string(deviceIdentifier)),"pushTokenHash":"\(pushTokenHash)",\
        "subject":\(PHPJSON.string(push.subject)),"signature":\(PHPJSON.string(push.signature)),\
        "priority":"\(push.priority.rawValue)","type":"\(push.kind.rawValue)"}
        """
    }
}
