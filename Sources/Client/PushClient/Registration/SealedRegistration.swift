package import Bytes
package import Envelope
package import StatusCrypto
package import Wire

/// A sealed registration (PROTOCOL.md §7): an RFC 26 payload to the server, around the signed metadata message, around AES-GCM under the
/// shared key.
package struct SealedRegistration: SealedRequest {
    package let requester: PrivateKey
    package let topic: TopicName
    package let payloads: [[UInt8]]
    /// The SHAKE-256 of the encrypted registration, which the response repeats.
    package let requestID: Digest64
    private let server: StatusCrypto.PublicKey

    /// Seals a registration unchanged.
    package init(
        _ registration: PushNotificationRegistration, from client: PrivateKey, to server: StatusCrypto.PublicKey, segmenter: Segmenter,
        using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        let encrypted = AESGCM.sealCombined(
            registration.encoded().span, key: client.sharedSecret(with: server), nonce: random.fixedBytes())
        let sealing = Sealing(segmenter: segmenter, signer: client)
        requester = client
        // Reference clients send registrations to the personal topic.
        topic = .personal(server)
        payloads = try sealing.encrypt(sealing.sign(encrypted, type: .pushNotificationRegistration), to: server, using: &random)
        requestID = Keccak.shake256(encrypted)
        self.server = server
    }

    package func answer(in message: OpenedMessage) -> PushNotificationRegistrationResponse? {
        Self.response(in: message, of: server, to: requestID.description)
    }

    /// - Parameter requestID: The SHAKE-256 of the encrypted registration, in hex.
    /// - Returns: The server's reply to the request, or nil if the message is something else.
    static func response(in message: OpenedMessage, of server: StatusCrypto.PublicKey, to requestID: String)
        -> PushNotificationRegistrationResponse?
    {
        guard message.sender == server, message.type == .pushNotificationRegistrationResponse,
            let response = try? PushNotificationRegistrationResponse.decode(message.payload), Hex.encode(response.requestID) == requestID
        else { return nil }
        return response
    }
}

extension PushNotificationRegistration {
    /// - Parameter accessToken: The UUID that senders must present.
    init(
        _ device: Device, installationID: String, accessToken: String, version: UInt64, from client: PrivateKey,
        to server: StatusCrypto.PublicKey,
        using random: inout some RandomNumberGenerator
    ) {
        self.init()
        tokenType = device.service.tokenType
        apnTopic = device.service.bundleID ?? ""
        deviceToken = DeviceToken(device.deviceToken)
        self.installationID = installationID
        self.accessToken = AccessToken(accessToken)
        enabled = device.isEnabled
        self.version = version
        // An author is named by the same hash as a one-to-one chat with that author (PROTOCOL.md §6).
        blockedChatList = device.blockedChats.union(device.blockedAuthors.map { ChatID($0.hex) }).hashes
        blockMentions = device.blocksMentions
        allowedMentionsChatList = device.mentionChats.hashes
        mutedChatList = device.mutedChats.hashes
        if let contacts = device.audience.contacts {
            allowFromContactsOnly = true
            allowedKeyList = AllowedKeys.encrypt(accessToken, from: client, to: contacts, using: &random)
        }
        let digest = Grant.digest(client: client.publicKey, server: server, accessToken: self.accessToken)
        grant = client.sign(digest).bytes.bytes
    }

    init(unregistering installationID: String, version: UInt64) {
        self.init()
        self.installationID = installationID
        self.version = version
        unregister = true
    }
}

extension Set<ChatID> {
    /// The hashes in sorted order, which reveals no other order.
    fileprivate var hashes: [[UInt8]] {
        map(\.hash).sorted { $0.lexicographicallyPrecedes($1) }
    }
}
