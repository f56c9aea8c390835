import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Decrypts an envelope and checks its message's signatures, without a store or a clock.
struct Opener: Sendable {
    let identity: PrivateKey

    /// Decrypts a message on the server's personal or partitioned topic with the server key.
    ///
    /// - Returns: nil if the key does not open the message.
    func frameForIdentity(_ message: RecordedMessage) -> RFC26.Frame? {
        try? RFC26.openAsymmetric(message.envelope.message.payload, with: identity)
    }

    /// Decrypts a message with a query topic's key.
    ///
    /// - Returns: nil if the key does not open the message.
    func frame(_ message: RecordedMessage, topicKey: SymmetricKey) -> RFC26.Frame? {
        try? RFC26.openSymmetric(message.envelope.message.payload, with: topicKey)
    }

    /// Decodes a message by its type, no matter on which topic it arrived (PROTOCOL.md §2).
    ///
    /// - Parameter data: The frame's content, or the content of all the message's segments.
    func interpret(_ data: [UInt8], of message: RecordedMessage) -> OpenedEnvelope {
        guard let metadata = try? ApplicationMetadata.open(data) else {
            return .dropped(message.id)
        }
        let origin = OpenedEnvelope.Origin(
            sender: metadata.sender, messageID: metadata.messageID, pubsubTopic: message.envelope.pubsubTopic,
            receivedAt: message.receivedAt)
        let body: OpenedEnvelope.Body
        switch metadata.type {
        case .pushNotificationRegistration:
            body = .registration(registration(metadata))
        case .pushNotificationQuery:
            guard let query = try? PushNotificationQuery.decode(metadata.payload) else { return .dropped(message.id) }
            body = .query(QueryRules.keys(of: query))
        case .pushNotificationRequest:
            guard let request = try? PushNotificationRequest.decode(metadata.payload) else { return .dropped(message.id) }
            body = .push(request)
        default:
            return .dropped(message.id, .notForUs)
        }
        return OpenedEnvelope(id: message.id, agesSince: message.agesSince, content: .message(body, from: origin))
    }

    /// Decrypts a registration with the shared key of client and server, and verifies its grant (PROTOCOL.md §7).
    private func registration(_ metadata: OpenedMessage) -> OpenedEnvelope.Registration {
        let facts: RegistrationInput
        if let plaintext = try? AESGCM.openCombined(metadata.payload.span, key: identity.sharedSecret(with: metadata.sender)) {
            let digest = SHA256.hash(plaintext)
            if let content = try? PushNotificationRegistration.decode(plaintext) {
                facts = RegistrationInput(
                    content: .message(content), grantIsValid: isGranted(content, by: metadata.sender), plaintextDigest: digest)
            } else {
                facts = RegistrationInput(content: .malformed, grantIsValid: false, plaintextDigest: digest)
            }
        } else {
            facts = RegistrationInput(content: .undecryptable, grantIsValid: false, plaintextDigest: Digest32())
        }
        let keyHash = metadata.sender.hash
        return OpenedEnvelope.Registration(
            facts: facts, requestID: Keccak.shake256(metadata.payload), keyHash: keyHash, topics: QueryTopics(keyHash: keyHash),
            byteCount: metadata.payload.count)
    }

    private func isGranted(_ content: PushNotificationRegistration, by client: PublicKey) -> Bool {
        // The rules ignore an unregistration's grant, so its public key is not recovered.
        guard !content.unregister, let grant = Signature(content.grant) else { return false }
        return grant.isBy(client, Grant.digest(client: client, server: identity.publicKey, accessToken: content.accessToken))
    }
}
