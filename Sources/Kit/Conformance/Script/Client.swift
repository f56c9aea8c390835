import Bytes
import Envelope
import StatusCrypto
import Tasks
import Wire

/// A client of the tested server under a throw-away key: an owner with a device, or a sender.
struct Client: Sendable {
    let key: PrivateKey
    let device: Device
    /// The device in the client's history: the same installation as it was before, or another installation.
    let former: Device
    let play: Play
    let mailbox: Mailbox

    var hash: Digest64 { key.publicKey.hash }
    var installationID: String { device.installationID }
    var accessToken: String { device.accessToken }
    var deviceToken: String { device.deviceToken }

    // MARK: Registrations

    /// Composes a registration that a server accepts.
    ///
    /// - Parameter change: Changes it before the grant is signed for its access token.
    func registration(_ change: (inout PushNotificationRegistration) -> Void = { _ in }) -> PushNotificationRegistration {
        registration(of: device) {
            $0.enabled = true
            $0.version = play.version(1)
            change(&$0)
        }
    }

    /// Composes the registration in the client's history. Everything differs from the usual registration, also the lists.
    func formerRegistration(_ change: (inout PushNotificationRegistration) -> Void) -> PushNotificationRegistration {
        registration(of: former) {
            // The versions of two installations have nothing to do with each other.
            $0.version = play.history == .second ? 7 : 1
            $0.allowFromContactsOnly = true
            $0.allowedKeyList = [play.bytes(64)]
            $0.blockedChatList = [play.bytes(64)]
            $0.mutedChatList = [play.bytes(64)]
            $0.blockMentions = true
            $0.allowedMentionsChatList = [play.bytes(64)]
            change(&$0)
        }
    }

    private func registration(
        of device: Device, _ change: (inout PushNotificationRegistration) -> Void
    ) -> PushNotificationRegistration {
        var registration = PushNotificationRegistration()
        registration.tokenType = device.platform
        registration.deviceToken = DeviceToken(device.deviceToken)
        registration.apnTopic = device.platform == .apn ? play.apnTopic : ""
        registration.installationID = device.installationID
        registration.accessToken = AccessToken(device.accessToken)
        change(&registration)
        registration.grant = grant(registration.accessToken.text)
        return registration
    }

    /// Signs a grant.
    ///
    /// - Parameters:
    ///   - server: The server that the grant authorises. Nil means the tested server.
    ///   - signer: The signing key. Nil means the client's own.
    func grant(_ accessToken: String, server: PublicKey? = nil, signer: PrivateKey? = nil) -> [UInt8] {
        let digest = Grant.digest(client: key.publicKey, server: server ?? play.server, accessToken: AccessToken(accessToken))
        return (signer ?? key).sign(digest).bytes.bytes
    }

    /// Registers and waits for the response.
    @discardableResult
    func register(
        _ change: (inout PushNotificationRegistration) -> Void = { _ in }
    ) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        try await register(registration(change))
    }

    /// Registers exactly this and waits for the response.
    ///
    /// - Parameter topic: The request's topic. Nil means the server's partitioned topic.
    func register(
        _ registration: PushNotificationRegistration, on topic: TopicName? = nil
    ) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        try await register(encrypted: encrypted(registration.encoded()), on: topic)
    }

    /// Sends an encrypted payload as a registration and waits for the response.
    func register(
        encrypted payload: [UInt8], on topic: TopicName? = nil
    ) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        try await registrationResponse(to: payload) { try await send(payload, .pushNotificationRegistration, on: topic) }
    }

    /// Unregisters the installation and waits for the response.
    func unregister(version: UInt64) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        try await register {
            $0.version = version
            $0.unregister = true
        }
    }

    /// Waits for the response to an encrypted registration that the body sends.
    func registrationResponse(
        to payload: [UInt8], _ send: () async throws -> Void
    ) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        try await reply(.pushNotificationRegistrationResponse, .registration, to: Keccak.shake256(payload).bytes, { $0.requestID }, send)
    }

    /// Encrypts a registration with the shared key of client and server: nonce, ciphertext, tag (PROTOCOL.md §7).
    ///
    /// - Parameter server: The key that the shared key is made with. Nil means the tested server's.
    func encrypted(_ plaintext: [UInt8], for server: PublicKey? = nil) -> [UInt8] {
        var random = play.random.generator
        return AESGCM.sealCombined(plaintext.span, key: key.sharedSecret(with: server ?? play.server), nonce: random.fixedBytes())
    }

    // MARK: Queries

    /// Queries an owner on both query topics and waits for the response, because a server may read only either topic.
    func query(_ owner: Client) async throws -> ServerReply<PushNotificationQueryResponse> {
        let data = signedQuery([owner.hash.bytes])
        return try await queryResponse(to: data) { try await send(query: data, about: owner) }
    }

    /// Waits for the response to a query that the body sends.
    ///
    /// - Parameter isFirst: Whether nobody has queried the owner before.
    func queryResponse(
        to data: [UInt8], isFirst: Bool = true, where matches: @escaping @Sendable (PushNotificationQueryResponse) -> Bool = { _ in true },
        _ send: () async throws -> Void
    ) async throws -> ServerReply<PushNotificationQueryResponse> {
        try await reply(
            .pushNotificationQueryResponse, .query, to: messageID(data), { $0.messageID }, where: matches,
            amongFew: isFirst ? play.network.newOwners : nil, send)
    }

    /// Returns a signed query for owners by the hashes of their keys.
    func signedQuery(_ hashes: [[UInt8]]) -> [UInt8] {
        var query = PushNotificationQuery()
        query.publicKeys = hashes
        return signed(query.encoded(), .pushNotificationQuery)
    }

    /// Publishes a signed query on an owner's query topics, in both forms or those that are passed.
    func send(query data: [UInt8], about owner: Client, forms: [TopicName.QueryForm] = TopicName.QueryForm.allCases) async throws {
        for form in forms {
            let topic = TopicName.query(owner.hash, form)
            note(data, on: topic)
            var random = play.random.generator
            try await play.publish(
                RFC26.sealSymmetric(data, key: topic.deriveSymmetricKey(), signer: key, using: &random), on: topic)
        }
    }

    // MARK: Push requests

    /// Composes a notification that a server accepts for an owner's device.
    func notification(
        to owner: Client, _ change: (inout PushNotification) -> Void = { _ in }
    ) -> PushNotification {
        var notification = PushNotification()
        notification.accessToken = AccessToken(owner.accessToken)
        notification.publicKey = owner.hash.bytes
        notification.installationID = owner.installationID
        notification.type = .message
        notification.chatID = play.bytes(64)
        notification.author = play.bytes(64)
        notification.message = play.bytes(48)
        change(&notification)
        return notification
    }

    /// Requests a push to an owner's device and waits for the response.
    @discardableResult
    func push(
        to owner: Client, _ change: (inout PushNotification) -> Void = { _ in }
    ) async throws -> ServerReply<PushNotificationResponse> {
        try await push([notification(to: owner, change)])
    }

    /// Requests pushes and waits for the response.
    ///
    /// - Parameters:
    ///   - messageID: The message id. Nil means a random id.
    ///   - topic: The request's topic. Nil means the server's partitioned topic.
    @discardableResult
    func push(
        _ notifications: [PushNotification], messageID: [UInt8]? = nil, on topic: TopicName? = nil
    ) async throws -> ServerReply<PushNotificationResponse> {
        let messageID = messageID ?? play.bytes(32)
        return try await pushResponse(to: messageID) {
            try await send(request(notifications, messageID), .pushNotificationRequest, on: topic)
        }
    }

    /// Waits for the response to a push request that the body sends.
    @discardableResult
    func pushResponse(
        to messageID: [UInt8], where matches: @escaping @Sendable (PushNotificationResponse) -> Bool = { _ in true },
        _ send: () async throws -> Void
    ) async throws -> ServerReply<PushNotificationResponse> {
        try await reply(.pushNotificationResponse, .push, to: messageID, { $0.messageID }, where: matches, send)
    }

    /// Encodes a push request.
    func request(_ notifications: [PushNotification], _ messageID: [UInt8]) -> [UInt8] {
        var request = PushNotificationRequest()
        request.requests = notifications
        request.messageID = messageID
        return request.encoded()
    }

    // MARK: Messages

    /// Returns a signed `ApplicationMetadataMessage`, encoded.
    func signed(_ payload: [UInt8], _ type: MessageType) -> [UInt8] {
        ApplicationMetadata.seal(payload, type: type, signer: key)
    }

    /// Returns the Status message id under which the client signed a message.
    func messageID(_ data: [UInt8]) -> [UInt8] { ApplicationMetadata.messageID(sender: key.publicKey, data).bytes }

    /// Signs a payload and publishes it, encrypted to the server.
    ///
    /// - Parameter topic: The topic. Nil means the server's partitioned topic.
    func send(_ payload: [UInt8], _ type: MessageType, on topic: TopicName? = nil) async throws {
        try await send(data: signed(payload, type), on: topic)
    }

    /// Publishes a frame's data, encrypted to the server.
    func send(data: [UInt8], on topic: TopicName? = nil) async throws {
        let topic = topic ?? .partitioned(play.server)
        note(data, on: topic)
        try await play.publish(play.sealed(data, signer: key), on: topic)
    }

    private func note(_ data: [UInt8], on topic: TopicName) {
        play.journal.note(
            SentRequest(
                installationID: installationID, messageID: Hex.encode(messageID(data), prefix: "0x"), topic: topic.topic.contentTopic))
    }

    /// Waits for the server's reply to a request that the body sends. A reply with another id counts, unless the client made an earlier
    /// request with it, because separate rules judge the ids.
    ///
    /// - Parameter few: Lets few requests of its kind be in progress. One that has no reply after a second makes room.
    /// - Throws: ``Overdue`` if the reply does not arrive in time.
    private func reply<Payload: WireMessage>(
        _ type: MessageType, _ kind: Patience.Kind, to requestID: [UInt8], _ id: @escaping @Sendable (Payload) -> [UInt8],
        where matches: @escaping @Sendable (Payload) -> Bool = { _ in true }, amongFew few: ConcurrencyLimiter? = nil,
        _ send: () async throws -> Void
    ) async throws -> ServerReply<Payload> {
        let earlier = mailbox.begin(requestID: requestID)
        let mark = mailbox.count
        let isReply: @Sendable (Mailbox.Received) -> Bool = { [server = play.server] received in
            guard received.message?.sender == server, let payload = received.decoded(as: type, Payload.self) else { return false }
            return (id(payload) == requestID || !earlier.contains(id(payload))) && matches(payload)
        }
        play.network.watch(mailbox)
        try await few?.acquire()
        let sentAt = play.network.now
        do {
            defer { few?.release() }
            try await send()
            if few != nil {
                _ = await withTimeout(Self.paceOfNewOwners, clock: play.limits.clock) { [mailbox] in
                    await mailbox.first(after: mark, where: isReply)
                }
            }
        }
        var received = await play.patience.wait(for: kind) { [mailbox] in await mailbox.first(after: mark, where: isReply) }
        if received == nil {
            await play.network.read()
            received = mailbox.messages(after: mark).first(where: isReply)
        }
        try Task.checkCancellation()
        guard let received, let payload = received.decoded(as: type, Payload.self) else {
            // The mailbox stays watched: the reply may be late.
            throw Overdue(kind, "expected \(kind.rawValue), none arrived") { [mailbox] in
                mailbox.messages(after: mark).first(where: isReply).map { sentAt.duration(to: $0.arrivedAt) }
            }
        }
        play.network.unwatch(mailbox)
        return ServerReply(payload: payload, received: received, requestID: requestID, sentAt: sentAt, play: play)
    }

    private static let paceOfNewOwners = Duration.seconds(1)
}

extension Duration {
    /// The time in seconds for a sentence.
    var text: String { "\(Double(components.seconds) + Double(components.attoseconds) / 1e18) s" }
}
