package import Envelope
package import StatusCrypto
package import Wire

/// A sealed registration (PROTOCOL.md §7): RFC 26 to the server around the signed metadata around AES-GCM under the key of both parties.
package struct RegistrationQuestion: Question {
    package static let answerType = MessageType.pushNotificationRegistrationResponse

    package let asker: PrivateKey
    package let topic: TopicName
    package let payload: [UInt8]
    /// SHAKE-256 of the encrypted registration; the answer repeats it.
    package let requestID: Digest64

    /// Seals any registration as it is.
    package init(
        _ registration: PushNotificationRegistration, from client: PrivateKey, to server: PublicKey,
        using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) {
        let encrypted = AESGCM.sealCombined(
            registration.encoded().span, key: client.sharedSecret(with: server), nonce: random.fixedBytes())
        let data = ApplicationMetadata.seal(encrypted, type: .pushNotificationRegistration, signer: client)
        asker = client
        // Where reference clients send them.
        topic = .personal(server)
        payload = try RFC26.sealAsymmetric(data, to: server, signer: client, using: &random)
        requestID = Keccak.shake256(encrypted)
    }

    package func answer(in payload: [UInt8]) -> PushNotificationRegistrationResponse? {
        guard let response = try? PushNotificationRegistrationResponse.decode(payload), response.requestID == requestID.bytes else {
            return nil
        }
        return response
    }
}

extension PushNotificationRegistration {
    /// - Parameter accessToken: a UUID.
    init(_ device: DeviceRegistration, accessToken: String, version: UInt64, from client: PrivateKey, to server: PublicKey) {
        self.init()
        switch device.service {
        case .apn(let topic):
            tokenType = .apn
            apnTopic = topic
        case .firebase:
            tokenType = .firebase
        }
        deviceToken = device.deviceToken
        installationID = device.installationID
        self.accessToken = accessToken
        enabled = device.isEnabled
        self.version = version
        blockedChatList = device.blockedChats.map(\.hash)
        blockMentions = device.blocksMentions
        allowedMentionsChatList = device.allowedMentionsChats.map(\.hash)
        mutedChatList = device.mutedChats.map(\.hash)
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
