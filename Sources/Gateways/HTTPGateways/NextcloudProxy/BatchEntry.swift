import Bytes
import ServerCrypto
import StatusCrypto
import Store

/// A notification as its server describes it. Only the phone can read the content.
struct BatchEntry: Sendable, Equatable {
    var identifier: DeviceIdentifier
    /// The identifier as it was sent, for the list of unknown devices: the server searches for it.
    var identifierText: String
    var pushTokenHash: String
    /// Base64.
    var subject: String
    var signature: String
    var priority: GatewayNotification.Priority
    var kind: GatewayNotification.Kind

    /// How long a decoded subject may be: a block for a device key from 2,048 to 8,192 bits.
    private static let subjectByteCounts = 256...1_024

    /// - Returns: nil unless the text is an object with all required fields as strings (GATEWAY_PROTOCOLS.md §2.4, 1).
    init?(_ json: String) {
        guard let fields = JSONFields(Array(json.utf8)), let identifierText = fields.string("deviceIdentifier"),
            let identifier = DeviceIdentifier(identifierText), let pushTokenHash = fields.string("pushTokenHash"),
            let subject = fields.string("subject"), let signature = fields.string("signature")
        else { return nil }
        self.identifier = identifier
        self.identifierText = identifierText
        self.pushTokenHash = pushTokenHash
        self.subject = subject
        self.signature = signature
        // Servers before Nextcloud 17 don't send the type. Unknown values mean the default.
        priority = fields.string("priority").flatMap(GatewayNotification.Priority.init) ?? .normal
        kind = fields.string("type").flatMap(GatewayNotification.Kind.init) ?? .alert
    }

    /// Returns the digest that identifies a repeated notification, because the protocol doesn't have a nonce. It is of the signature's
    /// bytes, which anybody can spell in several ways: base64 has spare bits, and a space stands for `+`.
    ///
    /// - Returns: nil unless the device's user has signed the subject (GATEWAY_PROTOCOLS.md §1).
    func digest(signedBy key: RSAPublicKey) -> Digest32? {
        guard let subject = base64(subject), Self.subjectByteCounts.contains(subject.count), let signature = base64(signature),
            key.isValidSignature(signature, of: subject)
        else { return nil }
        return SHA256.hash(identifier.digest.bytes + signature)
    }

    /// Returns the notification for a device (GATEWAY_PROTOCOLS.md §3).
    func notification(for device: ProxyDevice) -> GatewayNotification {
        var notification = content(for: device)
        notification.isCall = kind == .voip
        return notification
    }

    private func content(for device: ProxyDevice) -> GatewayNotification {
        // Apps rely on exactly these two fields.
        let data = ["subject": subject, "signature": signature]
        switch device.platform {
        case .android:
            return GatewayNotification(
                platform: .android, token: device.token, kind: kind, priority: kind == .voip ? .high : priority, data: data)
        case .ios:
            switch kind {
            case .voip where device.voipToken != nil:
                return GatewayNotification(
                    platform: .ios, token: device.voipToken ?? "", topic: device.voipTopic, kind: .voip, priority: .high, data: data)
            case .background:
                var notification = GatewayNotification(
                    platform: .ios, token: device.token, topic: device.topic, kind: .background, priority: .normal, data: data)
                notification.isContentAvailable = true
                return notification
            case .alert, .voip:
                var notification = GatewayNotification(
                    platform: .ios, token: device.token, topic: device.topic, kind: .alert, priority: kind == .voip ? .high : priority,
                    alert: .init(title: Self.key, body: Self.key, titleLocalizationKey: Self.key, bodyLocalizationKey: Self.key),
                    sound: "default", data: data)
                notification.isMutable = true
                return notification
            }
        }
    }

    /// The text that apps replace by the decrypted text, or show in the user's language if they cannot decrypt.
    private static let key = "NEW_NOTIFICATION"
}
