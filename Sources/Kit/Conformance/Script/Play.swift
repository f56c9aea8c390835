import Bytes
import Envelope
import StatusCrypto
import Wire

/// A scenario in progress: what its script can do.
struct Play: Sendable {
    let server: PublicKey
    let network: Network
    /// Nil if the tested server is not configured with the kit's stub.
    let gorush: GorushStub?
    let limits: ConformanceRun.Limits
    /// The bundle id of the kit's iOS devices.
    let apnTopic: String
    let random: SeededRandom

    /// Creates a client under a throw-away key.
    func client() -> Client {
        var random = random.generator
        let key = PrivateKey.generate(using: &random)
        return Client(
            key: key, installationID: UniversallyUniqueID.random(using: &random), accessToken: UniversallyUniqueID.random(using: &random),
            deviceToken: Hex.encode(random.bytes(32)), play: self, mailbox: network.open(key))
    }

    /// Creates a client and registers its device.
    func registeredClient(_ change: (inout PushNotificationRegistration) -> Void = { _ in }) async throws -> Client {
        let client = client()
        try await client.register(change).expectSuccess()
        return client
    }

    /// Returns random bytes.
    func bytes(_ count: Int) -> [UInt8] {
        var random = random.generator
        return random.bytes(count)
    }

    /// Returns a random UUID.
    func uuid() -> String {
        var random = random.generator
        return UniversallyUniqueID.random(using: &random)
    }

    // MARK: Envelopes

    /// Encrypts the data of a frame to the server.
    ///
    /// - Parameter signer: The signer of the frame; nil leaves it unsigned.
    func sealed(_ data: [UInt8], signer: PrivateKey?) throws -> [UInt8] {
        var random = random.generator
        return try RFC26.sealAsymmetric(data, to: server, signer: signer, using: &random)
    }

    /// Publishes a payload.
    func publish(_ payload: [UInt8], on topic: TopicName) async throws {
        try await network.publish(network.envelope(payload, on: topic.topic))
    }

    // MARK: Silence

    /// Proves that requests get no reply: the server replies to a later request, and no message for their senders arrives within a grace
    /// period after that.
    ///
    /// - Parameters:
    ///   - senders: Fresh clients: a late reply to an earlier request would count.
    ///   - departure: Returns a sentence if a message that arrives is what the reference sends.
    ///   - send: Sends the requests.
    func expectSilence(
        toward senders: Client..., departure: @escaping @Sendable (Mailbox.Received) -> String? = { _ in nil },
        after send: () async throws -> Void
    ) async throws {
        let marks = senders.map(\.mailbox.count)
        try await send()
        try await expectControlReply()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (sender, mark) in zip(senders, marks) {
                group.addTask {
                    guard
                        let received = await network.first(
                            in: sender.mailbox, after: mark, within: limits.gracePeriod, where: { _ in true })
                    else { return }
                    if let departure = departure(received) { throw Finding.departs(departure) }
                    throw Finding.fails("expected silence, received \(received.name)")
                }
            }
            try await group.waitForAll()
        }
    }

    /// Registers another device: the server is alive, and has read what was sent before.
    func expectControlReply() async throws {
        _ = try await client().register()
    }
}

extension Mailbox.Received {
    /// The message's type for a sentence.
    var name: String { message.map(\.type.name) ?? "a frame without a signed message" }

    /// The message of a type, decoded; nil if this is another one.
    func decoded<Message: WireMessage>(as type: MessageType, _: Message.Type = Message.self) -> Message? {
        guard let message, message.type == type else { return nil }
        return try? Message.decode(message.payload)
    }
}

extension MessageType {
    var name: String {
        switch self {
        case .pushNotificationRegistrationResponse: "a registration response"
        case .pushNotificationQueryResponse: "a query response"
        case .pushNotificationResponse: "a push response"
        default: "a message of type \(rawValue)"
        }
    }
}
