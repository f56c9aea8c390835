import Bytes
package import Envelope
public import PushClient
package import PushProtocol
package import StatusCrypto
import Tasks
package import Wire

/// A push server in a ``FakeNetwork``. It replies immediately, by the real server's rules and without its limits of rates, and keeps its
/// state in memory.
public final class FakeServer: FakeNode {
    /// A push that the server has accepted.
    public struct Push: Hashable, Sendable {
        /// The device token, for Apple in hex digits.
        public let deviceToken: String
        /// The device's installation id.
        public let installationID: String
        /// What the device gets: `PushPayload(data:)` of PushPayload reads it.
        public let data: [String: String]
    }

    package static let pubsubTopic = Node.defaultPubsubTopic

    /// A fault in the server's replies.
    package enum Fault: CaseIterable, Sendable {
        case signsAsSomebodyElse
        case leavesFrameUnsigned
        case answersWithAnotherType
        case answersAnotherRequest
        case answersOnAnotherTopic
        case answersInAnotherVersion
        case isSilent
    }

    package let key: PrivateKey
    private let wallClock: WallClock
    private let segmenter: Segmenter
    private let label: UInt32
    private let state: Monitor<State>
    private let acceptedPushes = Monitor<[AcceptedPush]>([])

    private struct State {
        var fault: Fault?
        /// The errors for the next registrations.
        var refusals: [RegistrationError] = []
        /// The errors for the next push requests.
        var pushRefusals: [ReportError] = []
        var assembler = SegmentAssembler()
        var segmentCount: Int64 = 0
        var envelopes: [WakuEnvelope] = []
        var registrations: [Installation: PushNotificationRegistration] = [:]
        var versions: [Installation: StoredVersion] = [:]
        /// The registrations in the order in which they came, the newest last.
        var order: [Installation] = []
        var requests: [OpenedMessage] = []
        /// The response to each push request, by the request's Status message id.
        var pushResponses: [Digest32: PushNotificationResponse] = [:]
        /// When each push was accepted, by its deduplication key.
        var pushTimes: [Digest32: Timestamp] = [:]
        var answersUnknownKeys = false
        var acceptsRetransmission = true
        var queryTopics: [(name: TopicName, key: SymmetricKey)] = []

        /// The devices that pushes are for.
        ///
        /// - Parameter entries: The notifications' chats and authors.
        func targets(asking entries: Set<[UInt8]>) -> [Installation: PushTarget] {
            var targets = registrations.mapValues { PushTarget($0, asking: entries) }
            for (number, installation) in order.enumerated() {
                targets[installation]?.registeredAt = Timestamp(nanoseconds: Int64(number))
            }
            return targets
        }

        mutating func listen(to client: StatusCrypto.PublicKey) {
            for form in TopicName.QueryForm.allCases {
                let name = TopicName.query(client.hash, form)
                guard !queryTopics.contains(where: { $0.name == name }) else { continue }
                queryTopics.append((name, name.deriveSymmetricKey()))
            }
        }
    }

    /// - Parameter label: The version in its replies' Waku messages.
    package init(
        key: PrivateKey = .test(1), fault: Fault? = nil, segmenter: Segmenter = Segmenter(), label: UInt32 = RFC26.messageVersion,
        wallClock: WallClock = WallClock { TestClock.start }
    ) {
        self.segmenter = segmenter
        self.label = label
        self.key = key
        state = Monitor(State(fault: fault))
        self.wallClock = wallClock
    }

    /// The public key, which is the server's address.
    public var identity: PushClient.PublicKey { PushClient.PublicKey(key.publicKey) }
    /// The fault of later replies, or nil.
    package var fault: Fault? {
        get { state.read(\.fault) }
        set { state.update { $0.fault = newValue } }
    }

    /// Rejects the next registrations and unregistrations, and stores nothing of them.
    ///
    /// - Parameters:
    ///   - rejection: Any code of the protocol, for example `.malformedMessage`, `.versionMismatch` or `.internalError`.
    ///   - count: The number of requests.
    public func refuseRegistrations(with rejection: RegistrationRejection, count: Int = 1) {
        refuseRegistrations(with: Array(repeating: RegistrationError(rawValue: rejection.rawValue), count: max(0, count)))
    }

    /// Rejects the next push requests, for all their devices.
    ///
    /// - Parameters:
    ///   - outcome: Any code of the protocol, for example `.wrongToken`, `.internalError` or `.notRegistered`. `.accepted` rejects nothing.
    ///   - count: The number of requests.
    public func refusePushes(with outcome: DeviceReport.Outcome, count: Int = 1) {
        guard let code = outcome.errorCode else { return }
        refusePushes(with: Array(repeating: ReportError(rawValue: code), count: max(0, count)))
    }

    /// Rejects the next registrations with these errors, without storing them.
    package func refuseRegistrations(with errors: [RegistrationError]) { state.update { $0.refusals = errors } }
    /// Rejects the next push requests with these errors.
    package func refusePushes(with errors: [ReportError]) { state.update { $0.pushRefusals = errors } }

    /// Makes the server reject a version that it has, even for an equal registration, as the reference's server does.
    package func refuseRetransmissions() { state.update { $0.acceptsRetransmission = false } }
    /// Makes the server reply with an empty list to queries for the key if it does not know the key, as the reference's server does.
    package func answer(queriesFor key: StatusCrypto.PublicKey) {
        state.update { state in
            state.answersUnknownKeys = true
            state.listen(to: key)
        }
    }

    /// Whether the server does not reply to anything.
    public var isSilent: Bool {
        get { fault == .isSilent }
        set { fault = newValue ? .isSilent : nil }
    }

    /// The number of registered devices.
    public var registrationCount: Int { registrations.count }

    /// The accepted pushes that the server would have handed to Apple or Google, in order.
    public var deliveredPushes: [Push] {
        pushes.map { push in
            Push(
                deviceToken: push.deviceToken.text, installationID: push.target.installationID,
                data: [
                    "chat_id": Hex.encode(push.chatID, prefix: "0x"), "message": Hex.encode(push.message, prefix: "0x"),
                    "installation_ids": "[\"\(push.target.installationID)\"]",
                ])
        }
    }

    /// Waits until this many devices are registered, or until the task is cancelled.
    public func waitForRegistrations(count: Int) async { await state.wait { $0.registrations.count == count ? () : nil } }

    /// Waits until this many pushes are accepted, or until the task is cancelled.
    public func waitForPushes(count: Int) async { await acceptedPushes.wait { $0.count == count ? () : nil } }

    /// The received requests, in order.
    package var requests: [OpenedMessage] { state.read(\.requests) }
    /// The pushes that have passed all checks, in order.
    package var pushes: [AcceptedPush] { acceptedPushes.read { $0 } }
    package var registrations: [PushNotificationRegistration] { state.update { Array($0.registrations.values) } }

    package func publish(_ envelope: WakuEnvelope) async throws {
        let replies = replies(to: envelope)
        state.update { $0.envelopes += replies }
    }

    /// Returns the replies to a message: none, an envelope, or several if the reply is long and cut into segments.
    package func replies(to envelope: WakuEnvelope) -> [WakuEnvelope] {
        guard envelope.pubsubTopic == Self.pubsubTopic, envelope.isReadable,
            let topic = Topic(contentTopic: envelope.message.contentTopic), let request = open(envelope.message.payload, on: topic)
        else { return [] }
        state.update { $0.requests.append(request) }
        return answers(to: request).flatMap { type, payload in seal(payload, type, to: request.sender) }
    }

    package func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        state.update { state in
            state.envelopes.filter { envelope in
                envelope.pubsubTopic == pubsubTopic && Topic(contentTopic: envelope.message.contentTopic).map(topics.contains) == true
                    && envelope.message.timestamp.map { $0 >= start.nanoseconds } == true
            }
        }
    }

    /// Makes the server ignore queries of this form.
    package func forgetTopics(_ form: TopicName.QueryForm) {
        state.update { state in
            state.queryTopics.removeAll { topic in
                state.registrations.keys.contains { TopicName.query($0.keyHash, form) == topic.name }
            }
        }
    }

    /// Restarts the server with an empty database.
    public func forgetRegistrations() {
        state.update { state in
            state.registrations = [:]
            state.versions = [:]
        }
    }

    /// A copy of the server's database.
    package struct Backup: Sendable {
        fileprivate let registrations: [Installation: PushNotificationRegistration]
        fileprivate let versions: [Installation: StoredVersion]
    }

    package func backup() -> Backup { state.read { Backup(registrations: $0.registrations, versions: $0.versions) } }

    /// Restarts the server with the database of a backup.
    package func restore(_ backup: Backup) {
        state.update { state in
            state.registrations = backup.registrations
            state.versions = backup.versions
        }
    }

    /// Replaces an installation's stored state, without checks.
    package func plant(_ registration: PushNotificationRegistration, of owner: StatusCrypto.PublicKey) {
        state.update { state in
            state.registrations[Installation(keyHash: owner.hash, installationID: registration.installationID)] = registration
            state.listen(to: owner)
        }
    }

    private func open(_ payload: [UInt8], on topic: Topic) -> OpenedMessage? {
        let own = [TopicName.personal(key.publicKey), .partitioned(key.publicKey)].map(\.topic)
        let frame =
            if own.contains(topic) {
                try? RFC26.openAsymmetric(payload, with: key)
            } else {
                state.read(\.queryTopics).filter { $0.name.topic == topic }.lazy
                    .compactMap { try? RFC26.openSymmetric(payload, with: $0.key) }.first
            }
        guard let frame else { return nil }
        let whole = state.update { state -> [UInt8]? in
            state.segmentCount += 1
            switch state.assembler.add(frame.data, id: state.segmentCount, signer: frame.signer(), now: wallClock.now()) {
            case .notASegment: return frame.data
            case .complete(let data, _): return data
            default: return nil
            }
        }
        return whole.flatMap { try? ApplicationMetadata.open($0) }
    }

    private func answers(to request: OpenedMessage) -> [(MessageType, [UInt8])] {
        switch request.type {
        case .pushNotificationRegistration:
            answerRegistration(request).map { [(.pushNotificationRegistrationResponse, $0.encoded())] } ?? []
        case .pushNotificationQuery: answerQuery(request).map { (.pushNotificationQueryResponse, $0.encoded()) }
        case .pushNotificationRequest: answerPush(request).map { [(.pushNotificationResponse, $0.encoded())] } ?? []
        default: []
        }
    }

    private func answerRegistration(_ request: OpenedMessage) -> PushNotificationRegistrationResponse? {
        guard let plaintext = decrypt(request.payload, from: request.sender) else { return nil }
        guard let message = try? PushNotificationRegistration.decode(plaintext) else { return nil }
        let grant = Grant.digest(client: request.sender, server: key.publicKey, accessToken: message.accessToken)
        let facts = RegistrationInput(
            content: .message(message), grantIsValid: Signature(message.grant)?.isBy(request.sender, grant) == true,
            plaintextDigest: SHA256.hash(plaintext))
        let installation = Installation(keyHash: request.sender.hash, installationID: message.installationID)
        let decision = state.update { state in
            if !state.refusals.isEmpty { return RegistrationDecision.refuse(state.refusals.removeFirst()) }
            let decision = RegistrationRules.decide(
                facts, stored: state.versions[installation], key: RegisteringKey(),
                policy: RegistrationPolicy(acceptRetransmission: state.acceptsRetransmission))
            if decision == .register {
                state.registrations[installation] = message
                state.order.removeAll { $0 == installation }
                state.order.append(installation)
            }
            if decision == .unregister { state.registrations[installation] = nil }
            if decision == .register || decision == .unregister {
                state.versions[installation] = StoredVersion(
                    version: message.version, plaintextDigest: facts.plaintextDigest, isRegistered: decision == .register)
                state.listen(to: request.sender)
            }
            return decision
        }
        let requestID = Keccak.shake256(fault == .answersAnotherRequest ? plaintext : request.payload)
        return RegistrationRules.response(to: decision, requestID: requestID)
    }

    private func answerQuery(_ request: OpenedMessage) -> [PushNotificationQueryResponse] {
        guard let query = try? PushNotificationQuery.decode(request.payload) else { return [] }
        let infos = state.update { state in
            QueryRules.keys(of: query).flatMap { hash in
                state.registrations.filter { $0.key.keyHash == hash }.values.sorted { $0.installationID < $1.installationID }
                    .map { QueryRules.info(for: QueryableRegistration($0), keyHash: hash, serverPublicKey: key.publicKey.compressed) }
            }
        }
        if infos.isEmpty, state.read(\.answersUnknownKeys) {
            var response = PushNotificationQueryResponse()
            response.messageID = request.messageID.bytes
            response.success = true
            return [response]
        }
        var (space, parts) = (ResponseSpace(), [[PushNotificationQueryInfo]](repeating: [], count: 2))
        for info in infos where space.take(info.encodedByteCount) { parts[space.isInFirst ? 0 : 1].append(info) }
        return parts.compactMap {
            QueryRules.response($0, messageID: fault == .answersAnotherRequest ? Digest32() : request.messageID)
        }
    }

    private func answerPush(_ request: OpenedMessage) -> PushNotificationResponse? {
        guard let push = try? PushNotificationRequest.decode(request.payload) else { return nil }
        let now = wallClock.now()
        let (response, pushes) = state.update { state -> (PushNotificationResponse?, [AcceptedPush]) in
            if !state.pushRefusals.isEmpty {
                return (Self.response(to: push, refusing: state.pushRefusals.removeFirst()), [])
            }
            let entries = Set(push.requests.flatMap(\.listEntries))
            let recent = state.pushTimes.filter { now < $0.value.advanced(by: ProtocolLimits.deduplicationLifetime) }
            let decision = PushRules.decide(
                push, earlier: state.pushResponses[request.messageID],
                targets: state.targets(asking: entries),
                recentDeduplicationKeys: Set(recent.keys))
            guard let decision, state.fault == nil else { return (decision?.response, []) }
            state.pushResponses[request.messageID] = decision.response
            state.pushTimes = recent
            for push in decision.pushes { state.pushTimes[push.deduplicationKey] = now }
            return (decision.response, decision.pushes)
        }
        acceptedPushes.update { $0 += pushes }
        guard var response else { return nil }
        if fault == .answersAnotherRequest { response.messageID += [0] }
        return response
    }

    private static func response(to push: PushNotificationRequest, refusing error: ReportError) -> PushNotificationResponse? {
        guard var response = PushRules.internalErrorResponse(to: push) else { return nil }
        for index in response.reports.indices { response.reports[index].error = error }
        return response
    }

    private func decrypt(_ payload: [UInt8], from client: StatusCrypto.PublicKey) -> [UInt8]? {
        try? AESGCM.openCombined(payload.span, key: key.sharedSecret(with: client))
    }

    private func seal(_ payload: [UInt8], _ type: MessageType, to client: StatusCrypto.PublicKey) -> [WakuEnvelope] {
        guard fault != .isSilent else { return [] }
        var random = SecureRandom()
        let signer = fault == .signsAsSomebodyElse ? PrivateKey.test(66) : key
        let type = fault == .answersWithAnotherType ? MessageType.contactCodeAdvertisement : type
        let data = ApplicationMetadata.seal(payload, type: type, signer: signer)
        return segmenter.segment(data).compactMap { data in
            var message = WakuMessage()
            guard
                let sealed = try? RFC26.sealAsymmetric(
                    data, to: client, signer: fault == .leavesFrameUnsigned ? nil : signer, using: &random)
            else { return nil }
            message.payload = sealed
            message.contentTopic =
                (fault == .answersOnAnotherTopic ? TopicName.personal(client) : .partitioned(client)).topic.contentTopic
            message.version = fault == .answersInAnotherVersion ? 2 : label
            message.timestamp = wallClock.now().nanoseconds
            return WakuEnvelope(pubsubTopic: Self.pubsubTopic, message: message)
        }
    }
}
