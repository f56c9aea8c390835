import Bytes
import Envelope
import StatusCrypto
import Tasks
import WakuREST
import Wire

/// A scenario in progress: what its script can do.
struct Play: Sendable {
    let server: PublicKey
    let network: Network
    /// Nil if the tested server is not configured with the kit's stub.
    let gorush: GorushStub?
    let limits: ConformanceRun.Limits
    let patience: Patience
    let journal: Journal
    /// Restarts the tested server, or nil if the kit cannot.
    let restart: (@Sendable () async throws -> Void)?
    /// The bundle id of the kit's iOS devices.
    let apnTopic: String
    /// The rule's id.
    let rule: String
    /// What the scenario's owners have registered before.
    private(set) var history: RegistrationHistory
    /// The shard on which the scenario's clients send. Nil means the first.
    private(set) var pubsubTopic: String?
    /// How much the clocks of the scenario's clients are wrong.
    var clockOffset = Duration.zero
    let observations: Observations
    let random: SeededRandom

    // MARK: Clients

    /// Creates a client under a throw-away key that has not registered anything.
    ///
    /// - Parameter platform: The device's platform. The device in the client's history has the opposite platform.
    func client(on platform: TokenType = .apn) -> Client {
        var random = random.generator
        let key = PrivateKey.generate(using: &random)
        let device = Device(on: platform, using: &random)
        var former = Device(on: platform == .apn ? .firebase : .apn, using: &random)
        if history != .second { former.installationID = device.installationID }
        return Client(key: key, device: device, former: former, play: self, mailbox: network.open(key))
    }

    /// Creates a client with the scenario's history.
    ///
    /// - Parameter before: Changes the registration in its history, which differs from the usual registration in everything.
    func owner(
        on platform: TokenType = .apn, before: (inout PushNotificationRegistration) -> Void = { _ in }
    ) async throws -> Client {
        let client = client(on: platform)
        guard history != .first else { return client }
        try await client.register(client.formerRegistration(before)).expectSuccess()
        if history == .returned { try await client.unregister(version: 2).expectSuccess() }
        return client
    }

    /// Creates a client with the scenario's history and registers its device.
    func registeredClient(
        on platform: TokenType = .apn, _ change: (inout PushNotificationRegistration) -> Void = { _ in },
        before: (inout PushNotificationRegistration) -> Void = { _ in }
    ) async throws -> Client {
        let client = try await owner(on: platform, before: before)
        try await client.register(change).expectSuccess()
        return client
    }

    /// The version of an owner's registration in the scenario, counted from 1: the history has used lower versions.
    func version(_ number: UInt64) -> UInt64 { [.replaced, .returned].contains(history) ? number + 2 : number }

    /// The same scenario for clients without a history.
    var fresh: Play {
        var copy = self
        copy.history = .first
        return copy
    }

    /// The same scenario for clients on the second shard.
    var onSecondShard: Play {
        get throws {
            guard let topic = network.secondPubsubTopic else { throw Finding.fails("the kit uses one shard") }
            var copy = self
            copy.pubsubTopic = topic
            return copy
        }
    }

    /// Returns random bytes.
    func bytes(_ count: Int) -> [UInt8] {
        var random = random.generator
        return random.bytes(count)
    }

    /// Returns a list of 200 entries, as many as an owner with lots of contacts or chats has. It ends with the given entry.
    func list(endingWith entry: [UInt8]) -> [[UInt8]] { (0..<199).map { _ in bytes(entry.count) } + [entry] }

    /// Returns a random UUID.
    func uuid() -> String {
        var random = random.generator
        return UniversallyUniqueID.random(using: &random)
    }

    // MARK: Expectations

    /// Expects a behaviour in which the reference departs from the rule.
    ///
    /// - Parameters:
    ///   - isSo: Whether the server follows the rule.
    ///   - isDeparture: Whether it does exactly what the reference does.
    func expect(
        _ isSo: Bool, orDeparts departure: Departure, if isDeparture: @autoclosure () -> Bool, _ sentence: @autoclosure () -> String
    ) throws {
        guard isSo || isDeparture() else { throw Finding.fails(sentence()) }
        observations.record(departure, departs: !isSo, in: rule)
    }

    /// How often a question is asked at least.
    private static let questionCount = 3

    /// Asks a question that must be asked in time, again if it was not.
    ///
    /// - Parameter question: Asks with clients of its own, and finds what is wrong anyway. It returns nil, or why it was not asked in time.
    /// - Throws: ``Unasked`` if it was never in time.
    func asking(_ question: () async throws -> String?) async throws {
        let elapsed = limits.clock.stopwatch()
        var count = 0
        while let reason = try await question() {
            count += 1
            guard count < Self.questionCount || elapsed() < limits.timeout else { throw Unasked.late(reason) }
        }
    }

    /// Performs an exchange of a kind with an owner that the server does not know yet.
    func exchange(_ kind: Patience.Kind) async throws {
        switch kind {
        case .registration: try await expectControlReply()
        case .query: _ = try await client().query(fresh.registeredClient())
        case .push: _ = try await client().push(to: fresh.registeredClient())
        case .notification: try await pushControl()
        case .deferred:
            try await limits.clock.sleep(for: Patience.Kind.bucketInterval)
            try await pushControl()
        }
    }

    // MARK: Envelopes

    /// Encrypts a frame's data to the server.
    ///
    /// - Parameter signer: The frame's signer. Nil leaves it unsigned.
    func sealed(_ data: [UInt8], signer: PrivateKey?) throws -> [UInt8] {
        var random = random.generator
        return try RFC26.sealAsymmetric(data, to: server, signer: signer, using: &random)
    }

    func publish(_ payload: [UInt8], on topic: TopicName) async throws {
        var envelope = network.envelope(payload, on: topic.topic, of: pubsubTopic)
        envelope.message.timestamp = envelope.message.timestamp.map { Timestamp(nanoseconds: $0).advanced(by: clockOffset).nanoseconds }
        try await network.publish(envelope)
    }

    // MARK: Restarts

    /// How often a node that starts with the server is tried again, once a second.
    private static let maximumNodeAttemptCount = 60

    /// Restarts the server, and returns when it replies again.
    func restartServer() async throws {
        guard let restart else { throw Finding.fails("the kit has no command that restarts the server") }
        try await restart()
        for attempt in 1...Self.maximumNodeAttemptCount {
            do {
                return try await expectControlReply()
            } catch is NodeError where attempt < Self.maximumNodeAttemptCount {
                try await limits.clock.sleep(for: .seconds(1))
            }
        }
    }

    // MARK: Silence

    /// Proves that requests stay without a reply: the server replies to a later request, and no message for their senders arrives within a
    /// grace period after that. Copies of earlier messages don't count.
    ///
    /// - Parameters:
    ///   - departure: What the reference does instead, and whether a message is that.
    ///   - send: Sends the requests.
    func expectSilence(
        toward senders: Client..., departure: (Departure, @Sendable (Mailbox.Received) -> Bool)? = nil, after send: () async throws -> Void
    ) async throws {
        let marks = senders.map(\.mailbox.count)
        try await send()
        try await expectControlReply()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (sender, mark) in zip(senders, marks) {
                group.addTask {
                    let earlier = sender.mailbox.messages(until: mark).map(\.message)
                    let received = await network.first(in: sender.mailbox, after: mark, within: limits.gracePeriod) { received in
                        received.message == nil || !earlier.contains(received.message)
                    }
                    guard let (departure, isDeparture) = departure else {
                        return try Conformance.expect(received == nil, "expected silence, received \(received?.name ?? "")")
                    }
                    try expect(
                        received == nil, orDeparts: departure, if: received.map(isDeparture) ?? false,
                        "expected silence, received \(received?.name ?? "")")
                }
            }
            try await group.waitForAll()
        }
    }

    /// Registers another device: the server is alive, and has read what was sent before.
    func expectControlReply() async throws {
        _ = try await fresh.client().register()
    }
}

extension Mailbox.Received {
    /// The message's type for a sentence.
    var name: String { message.map(\.type.name) ?? "a frame without a signed message" }

    /// A type's message, decoded, or nil if this is another.
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
