package import Bytes
package import Envelope
package import StatusCrypto
package import Wire

/// A client like the reference implementation. The client makes the envelopes of registrations, queries and push requests, and opens
/// replies. The tests pass its envelopes on, because the client has no network.
package struct ProtocolClient: Sendable {
    package let key: PrivateKey
    package let server: PublicKey
    package var pubsubTopic = "/waku/2/rs/16/32"
    /// The version of its envelopes: clients since Status 2.40 send 0.
    package var label = RFC26.messageVersion

    /// The counter that gives each envelope its own timestamp, so that no two have equal message hashes.
    private let timestamps: EnvelopeCounter

    /// The clock of a client whose messages need no archive.
    package static let longAgo = WallClock { Timestamp(nanoseconds: 1_700_000_000_000_000_000) }

    /// - Parameter clock: The clock of the envelopes. Archives accept only recent ones.
    package init(key: PrivateKey, server: PublicKey, clock: WallClock = Self.longAgo) {
        self.key = key
        self.server = server
        timestamps = EnvelopeCounter(clock)
    }

    /// Creates a client with a fresh key.
    package init(server: PublicKey, clock: WallClock = Self.longAgo) {
        var random = SecureRandom()
        self.init(key: .generate(using: &random), server: server, clock: clock)
    }

    package var keyHash: Digest64 { key.publicKey.hash }

    // MARK: Messages

    /// Returns a registration that the server accepts, as a base for variations.
    package func registration(
        installationID: String = "c6ae4fde-bb65-11ea-b3de-0242ac130004", version: UInt64 = 1,
        accessToken: String = "b6ae4fde-bb65-11ea-b3de-0242ac130004", deviceToken: String = String(repeating: "ab", count: 32)
    ) -> PushNotificationRegistration {
        var registration = PushNotificationRegistration()
        registration.tokenType = .apn
        registration.deviceToken = DeviceToken(deviceToken)
        registration.apnTopic = "im.status.ethereum"
        registration.installationID = installationID
        registration.accessToken = AccessToken(accessToken)
        registration.enabled = true
        registration.version = version
        registration.grant =
            key.sign(Grant.digest(client: key.publicKey, server: server, accessToken: AccessToken(accessToken))).bytes.bytes
        return registration
    }

    /// Returns a valid notification to a device.
    package func notification(
        to owner: ProtocolClient, installationID: String = "c6ae4fde-bb65-11ea-b3de-0242ac130004",
        accessToken: String = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
    ) -> PushNotification {
        var notification = PushNotification()
        notification.accessToken = AccessToken(accessToken)
        notification.publicKey = owner.keyHash.bytes
        notification.installationID = installationID
        notification.type = .message
        notification.chatID = Keccak.shake256(Array("chat".utf8)).bytes
        notification.author = Keccak.shake256(Array("author".utf8)).bytes
        return notification
    }

    /// Returns a push request with a message id.
    package func request(_ notifications: [PushNotification], messageID: [UInt8] = [7]) -> PushNotificationRequest {
        var request = PushNotificationRequest()
        request.requests = notifications
        request.messageID = messageID
        return request
    }

    // MARK: Envelopes

    /// Returns the encrypted payload of a registration: `nonce(12) ‖ ciphertext ‖ tag(16)`.
    package func encrypted(_ registration: PushNotificationRegistration) -> [UInt8] {
        var random = SecureRandom()
        let nonce: FixedBytes<12> = random.fixedBytes()
        return nonce.bytes
            + AESGCM.seal(registration.encoded().span, key: key.sharedSecret(with: server), nonce: nonce)
    }

    /// Returns an envelope on the server's personal topic, as reference clients send it.
    package func envelope(_ registration: PushNotificationRegistration) throws -> WakuEnvelope {
        try toServer(encrypted(registration), type: .pushNotificationRegistration, topic: .personal(server))
    }

    /// Returns an envelope on the server's partitioned topic.
    package func envelope(_ request: PushNotificationRequest) throws -> WakuEnvelope {
        try toServer(request.encoded(), type: .pushNotificationRequest, topic: .partitioned(server))
    }

    /// Returns an envelope on the query topic of the owner, encrypted symmetrically.
    package func envelope(
        queryFor keyHashes: [Digest64], onTopicOf owner: Digest64, form: TopicName.QueryForm = .plain
    ) throws -> WakuEnvelope {
        var query = PushNotificationQuery()
        query.publicKeys = keyHashes.map { $0.bytes }
        let topic = TopicName.query(owner, form)
        var random = SecureRandom()
        let data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: key)
        return wrap(
            try RFC26.sealSymmetric(data, key: topic.deriveSymmetricKey(), signer: key, using: &random), topic: topic.topic)
    }

    /// Returns an envelope with any payload, signed by this client and encrypted to the server.
    package func toServer(_ payload: [UInt8], type: MessageType, topic: TopicName) throws -> WakuEnvelope {
        var random = SecureRandom()
        let data = ApplicationMetadata.seal(payload, type: type, signer: key)
        return wrap(try RFC26.sealAsymmetric(data, to: server, signer: key, using: &random), topic: topic.topic)
    }

    /// Wraps a payload in an envelope.
    package func wrap(_ payload: [UInt8], topic: Topic) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = payload
        message.contentTopic = topic.contentTopic
        message.version = label
        message.timestamp = timestamps.next()
        return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
    }

    // MARK: Replies

    /// Opens an envelope that is on this client's partitioned topic, encrypted to this client, and signed by the server inside and out.
    ///
    /// - Returns: The message, or nil for other envelopes.
    package func open(_ envelope: WakuEnvelope) -> OpenedMessage? {
        guard envelope.message.contentTopic == TopicName.partitioned(key.publicKey).topic.contentTopic,
            envelope.message.version == RFC26.messageVersion,
            let frame = try? RFC26.openAsymmetric(envelope.message.payload, with: key), frame.signer() == server,
            let message = try? ApplicationMetadata.open(frame.data), message.sender == server
        else { return nil }
        return message
    }
}
