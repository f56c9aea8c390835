package import Envelope
import StatusCrypto
package import Store

/// A push for one device, encrypted and signed when it happened, that waits for the device's proxy.
package struct OriginPush: Sendable, Equatable {
    /// The device's app password.
    package var tokenID: Int64
    /// This and the signature: base64.
    package var subject: String
    package var signature: String
    package var priority: GatewayNotification.Priority
    package var kind: GatewayNotification.Kind
    package var expiresAt: Timestamp

    package init(
        tokenID: Int64, subject: String, signature: String, priority: GatewayNotification.Priority, kind: GatewayNotification.Kind,
        expiresAt: Timestamp
    ) {
        self.tokenID = tokenID
        self.subject = subject
        self.signature = signature
        self.priority = priority
        self.kind = kind
        self.expiresAt = expiresAt
    }

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

/// A push that waits, and its device as it is registered now.
package struct WaitingOriginPush: Sendable, Equatable {
    package var id: Int64
    /// The device's number in the store, which no other ever has.
    package var device: Int64
    package var deviceIdentifier: String
    package var pushTokenHash: String
    package var push: OriginPush

    package init(id: Int64, device: Int64, deviceIdentifier: String, pushTokenHash: String, push: OriginPush) {
        self.id = id
        self.device = device
        self.deviceIdentifier = deviceIdentifier
        self.pushTokenHash = pushTokenHash
        self.push = push
    }

    /// One entry of `POST /notifications`, as PHP writes it.
    var entry: String {
        """
        {"deviceIdentifier":\(PHPJSON.string(deviceIdentifier)),"pushTokenHash":"\(pushTokenHash)",\
        "subject":\(PHPJSON.string(push.subject)),"signature":\(PHPJSON.string(push.signature)),\
        "priority":"\(push.priority.rawValue)","type":"\(push.kind.rawValue)"}
        """
    }
}
