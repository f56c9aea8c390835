package import Envelope
package import StatusCrypto
package import Wire

/// A sealed registration (PROTOCOL.md §7): RFC 26 to the server around the signed metadata around AES-GCM under the key of both parties.
package struct SealedRegistration: SealedRequest {
    package let asker: PrivateKey
    package let topic: TopicName
    package let payloads: [[UInt8]]
    /// SHAKE-256 of the encrypted registration; the answer repeats it.
    package let requestID: Digest64
    private let server: PublicKey

    /// Seals any registration as it is.
    package init(
        _ registration: PushNotificationRegistration, from client: PrivateKey, to server: PublicKey, segmenter: Segmenter,
        using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        let encrypted = AESGCM.sealCombined(
            registration.encoded().span, key: client.sharedSecret(with: server), nonce: random.fixedBytes())
        let sealing = Sealing(segmenter: segmenter, signer: client)
        asker = client
        // Where reference clients send them.
        topic = .personal(server)
        payloads = try sealing.encrypt(sealing.sign(encrypted, type: .pushNotificationRegistration), to: server, using: &random)
        requestID = Keccak.shake256(encrypted)
        self.server = server
    }

    package func answer(in message: OpenedMessage) -> PushNotificationRegistrationResponse? {
        guard message.sender == server, message.type == .pushNotificationRegistrationResponse,
            let response = try? PushNotificationRegistrationResponse.decode(message.payload), response.requestID == requestID.bytes
        else { return nil }
        return response
    }
}

extension PushNotificationRegistration {
    /// - Parameter accessToken: a UUID.
    init(
        _ device: Device, installationID: String, accessToken: String, version: UInt64, from client: PrivateKey, to server: PublicKey,
        using random: inout some RandomNumberGenerator
    ) {
        self.init()
        switch device.service {
        case .apn(let topic):
            tokenType = .apn
            apnTopic = topic
        case .firebase:
            tokenType = .firebase
        }
        deviceToken = device.deviceToken
        self.installationID = installationID
        self.accessToken = accessToken
        enabled = device.isEnabled
        self.version = version
        // An author's key is hashed as the text that names a one-to-one chat with it (PROTOCOL.md §6).
        blockedChatList = device.blockedChats.union(device.blockedAuthors.map { ChatID($0.hex) }).hashes
        blockMentions = device.blocksMentions
        allowedMentionsChatList = device.mentionChats.hashes
        mutedChatList = device.mutedChats.hashes
        if device.isForContactsOnly {
            allowFromContactsOnly = true
            let capacity = AllowedKeys.capacity(besides: blockedChatList.count + allowedMentionsChatList.count + mutedChatList.count)
            allowedKeyList = AllowedKeys.encrypt(accessToken, from: client, to: device.contacts, capacity: capacity, using: &random)
        }
        let digest = Grant.digest(client: client.publicKey, server: server, accessToken: accessToken)
        grant = client.sign(digest).bytes.bytes
    }

    /// A registration that ends an installation's.
    init(unregistering installationID: String, version: UInt64) {
        self.init()
        self.installationID = installationID
        self.version = version
        unregister = true
    }
}

extension Set<ChatID> {
    /// In an order that tells nothing.
    fileprivate var hashes: [[UInt8]] {
        map(\.hash).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension RegistrationRefusal {
    init(_ error: RegistrationError) {
        self =
            switch error {
            case .malformedMessage: .malformedMessage
            case .versionMismatch: .versionMismatch
            case .unsupportedTokenType: .unsupportedTokenType
            case .internalError: .internalError
            default: .unknown(code: error.rawValue)
            }
    }
}
