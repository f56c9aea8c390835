import Bytes
import Envelope
import ServerCrypto
import StatusCrypto
import Store

extension OriginPush {
    /// A call doesn't ring longer.
    private static let callLifetime = Duration.seconds(60)

    /// Encrypts and signs a payload.
    ///
    /// - Parameter key: The user's key.
    /// - Returns: Nil if the payload is longer than a block of the device's key.
    init?(_ payload: Payload, to device: OriginDevice, signedBy key: RSAPrivateKey, padding: RSAPadding, at now: Timestamp) {
        guard let block = device.publicKey.encrypt(Array(payload.json.utf8), padding: padding) else { return nil }
        self.init(
            tokenID: device.tokenID, subject: base64(block), signature: base64(key.signature(of: block)), priority: payload.priority,
            kind: payload.kind, expiresAt: now.advanced(by: payload.kind == .voip ? Self.callLifetime : Self.lifetime))
    }
}

extension WaitingOriginPush {
    /// An entry of `POST /notifications`, as PHP writes it.
    var entry: String {
        """
        {"deviceIdentifier":\(PHPJSON.string(deviceIdentifier)),"pushTokenHash":"\(pushTokenHash)",\
        "subject":\(PHPJSON.string(push.subject)),"signature":\(PHPJSON.string(push.signature)),\
        "priority":"\(push.priority.rawValue)","type":"\(push.kind.rawValue)"}
        """
    }
}
