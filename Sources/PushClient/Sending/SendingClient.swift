import Envelope
import StatusCrypto
import Wire

/// Finds the devices of others, and has them notified.
///
///     let client = SendingClient(identity: identity, node: node, state: try ClientState(path: "push.sqlite"))
///     let reports = try await client.push(message, to: [Recipient(friend)])
///
/// Everything goes out under ephemeral keys: neither a server nor the network learns who asks or notifies.
public actor SendingClient {
    /// "At least 3 devices SHOULD be targeted" (71/STATUS-PUSH-NOTIFICATION-SERVER): so many of each person, and no more.
    public static let defaultMaximumDeviceCount = 3
    /// How long servers have to answer a query; what reference clients wait.
    public static let defaultQueryTimeout = Duration.seconds(3)
    /// How often the node is asked for new advertisements.
    public static let defaultFollowingInterval = PollRhythm.listening

    let identity: Identity?
    let node: Node
    let listeners = Broadcast<SendingEvent>()
    private let state: ClientState
    private let queryTimeout: Duration

    /// Makes a client. Nothing is sent.
    ///
    /// - Parameters:
    ///   - identity: of whom others are contacts: decrypts the access tokens that they encrypted for it. Never shows on the wire.
    ///   - node: carries the messages.
    ///   - state: keeps what is known of others' devices.
    ///   - queryTimeout: how long servers have to answer a query.
    public init(identity: Identity? = nil, node: Node, state: ClientState, queryTimeout: Duration = defaultQueryTimeout) {
        self.identity = identity
        self.node = node
        self.state = state
        self.queryTimeout = queryTimeout
    }

    /// What the client finds out from now on. Each call gives a stream of its own, which keeps the last 100 events.
    public nonisolated var events: AsyncStream<SendingEvent> { listeners.subscribe(bufferingNewest: 100) }

    // MARK: Finding

    /// The devices of a person: as known, as the person advertises them, or as servers tell.
    ///
    /// What was learned in the last day is taken as it is. Otherwise the node's store is looked through for the person's advertisements,
    /// and if they leave a token open, every server that knows the person is asked.
    /// - Parameters:
    ///   - person: the chat key, or the key of anonymous mode.
    ///   - refreshes: whether to look even if something is known.
    /// - Returns: one for each installation and server, those without a token that this client may use too; empty if nothing is to be
    ///   found. The installation that was active last is the first, as far as advertisements tell; the others follow, the newest
    ///   registration first.
    /// - Throws: ``PushClientError``; that no server answers is no error.
    public func devices(of person: IdentityKey, refreshes: Bool = false) async throws(PushClientError) -> [DeviceInfo] {
        let known = try await known(person)
        if let known, known.isFresh(at: node.now), !refreshes { return known.devices }
        return try await lookUp(person, knownAs: known)
    }

    /// - Parameter wanted: installations that are asked for if they are not advertised.
    private func lookUp(
        _ person: IdentityKey, knownAs known: KnownDevices?, wanted: [String] = []
    ) async throws(PushClientError) -> [DeviceInfo] {
        var subscription = Subscription(to: [.contactCode(person.publicKey)], since: Advertisement.start(at: node.now))
        var advertised = AdvertisedDevices(of: person)
        for arrival in try await subscription.next(from: node) {
            advertised.take(arrival.message, sentAt: arrival.sentAt, to: identity?.privateKey)
        }
        var learned = advertised.devices
        let isOpen = learned.isEmpty || learned.contains { $0.accessToken == nil } || !learned.have(wanted)
        if isOpen, !advertised.isWithdrawn {
            learned = try await query(person) + learned
            // Nobody answers: what was known is better than nothing.
            if learned.isEmpty, let known, !known.devices.isEmpty { return known.devices }
        }
        return try await keep(
            KnownDevices(learned, lastActiveFirst: advertised.installationIDs, learnedAt: node.now), of: person)
    }

    /// Asks every server that knows the person; what is known is not looked at.
    ///
    /// In the reference's form first; if that finds nothing, in the specification's.
    /// - Returns: what is authorised by the person; empty also if no server answers.
    public func query(_ person: IdentityKey) async throws(PushClientError) -> [DeviceInfo] {
        for form in TopicName.QueryForm.allCases {
            let request = try node.sealing { random throws(RFC26.DataTooLong) in
                let ephemeral = PrivateKey.generate(using: &random)
                return try SealedQuery(
                    about: person.hash, of: nil, form: form, asker: ephemeral, segmenter: node.segmenter, using: &random)
            }
            let devices = try await node.exchange.collect(request, for: queryTimeout).flatMap { reply in
                QueryResult(reply.response, about: .key(person), by: reply.server, to: identity?.privateKey).devices
            }
            if !devices.isEmpty { return devices }
        }
        return []
    }

    /// Tokens that were encrypted for one contact are not for another: what is known is known to this client's key.
    func known(_ person: IdentityKey) async throws(PushClientError) -> KnownDevices? {
        try await state.devices(of: person, for: identity?.publicKey)
    }

    func keep(_ known: KnownDevices, of person: IdentityKey) async throws(PushClientError) -> [DeviceInfo] {
        let before = try await self.known(person)?.devices
        try await state.save(known, of: person, for: identity?.publicKey)
        if known.devices != before { listeners.send(.learned(person: person, devices: known.devices)) }
        return known.devices
    }

    // MARK: Sending

    /// Has people's devices notified of one message.
    ///
    /// One server a device. A server that does not answer within 3 seconds is followed by another that knows the device. One that refuses
    /// the token is asked for the present one, and tried again once, under the same message id. One that has trouble is tried again.
    /// - Parameters:
    ///   - message: what to notify of.
    ///   - recipients: whom, and on which devices.
    ///   - maximumDeviceCount: of each person.
    /// - Returns: a report for each device, and for each person of whom none is known.
    /// - Throws: ``PushClientError`` of node and state file; what servers say is in the reports.
    public func push(
        _ message: PushMessage, to recipients: [Recipient], maximumDeviceCount: Int = defaultMaximumDeviceCount
    ) async throws(PushClientError) -> [DeliveryReport] {
        var targets: [PushDelivery.Target] = []
        var reports: [DeliveryReport] = []
        for (recipient, devices) in try await devices(of: recipients) {
            let installationIDs = Self.choose(recipient, among: devices).prefix(maximumDeviceCount)
            targets += installationIDs.map {
                .init(person: recipient.person, installationID: $0, routes: PushDelivery.Route.routes(to: $0, among: devices))
            }
            if installationIDs.isEmpty {
                reports.append(DeliveryReport(person: recipient.person, installationID: nil, outcome: .unknown))
            }
        }
        return try await deliver(message, PushDelivery(to: targets)) + reports
    }

    /// All at once: each may take some seconds.
    private func devices(of recipients: [Recipient]) async throws(PushClientError) -> [(Recipient, [DeviceInfo])] {
        let results = await withTaskGroup(returning: [Int: Result<[DeviceInfo], PushClientError>].self) { group in
            for (index, recipient) in recipients.enumerated() {
                group.addTask { await (index, self.result(for: recipient)) }
            }
            var results: [Int: Result<[DeviceInfo], PushClientError>] = [:]
            for await (index, result) in group { results[index] = result }
            return results
        }
        var devices: [(Recipient, [DeviceInfo])] = []
        for (index, recipient) in recipients.enumerated() { devices.append((recipient, try results[index]?.get() ?? [])) }
        return devices
    }

    private func result(for recipient: Recipient) async -> Result<[DeviceInfo], PushClientError> {
        do throws(PushClientError) {
            let known = try await devices(of: recipient.person)
            // A new device of a person may be wanted, that was not there when the person was looked up.
            guard let wanted = recipient.installationIDs, !known.have(wanted),
                let saved = try await self.known(recipient.person), saved.mayBeRefreshed(at: node.now)
            else { return .success(known) }
            return .success(try await lookUp(recipient.person, knownAs: saved, wanted: wanted))
        } catch {
            return .failure(error)
        }
    }

    /// The wanted devices, or all that can be notified, each in the order in which they are given.
    private static func choose(_ recipient: Recipient, among devices: [DeviceInfo]) -> [String] {
        if let wanted = recipient.installationIDs { return wanted }
        var seen: Set<String> = []
        return devices.filter { $0.accessToken != nil }.map(\.installationID).filter { seen.insert($0).inserted }
    }

    private func deliver(_ message: PushMessage, _ delivery: PushDelivery) async throws(PushClientError) -> [DeliveryReport] {
        var delivery = delivery
        var random = node.makeRandom()
        // Servers that know of the same message learn nothing more by the same key.
        let asker = PrivateKey.generate(using: &random)
        let answerTopic = TopicName.partitioned(asker.publicKey).topic
        let start = node.now.advanced(by: .zero - Exchange.clockTolerance)
        let elapsed = node.exchange.stopwatch()
        var reader = MessageReader(.asymmetric(asker))
        var requests: [IdentityKey: SealedPushRequest] = [:]
        var rhythm = PollRhythm()

        while true {
            for action in delivery.next(at: elapsed()) {
                rhythm = PollRhythm()
                switch action {
                case .request(let server, let devices):
                    let request = try node.sealing { random throws(RFC26.DataTooLong) in
                        try SealedPushRequest(
                            message, to: devices, asker: asker, server: server.publicKey, segmenter: node.segmenter, using: &random)
                    }
                    let isFirst = requests.isEmpty
                    requests[server] = request
                    try await tolerating(!isFirst) { () async throws(PushClientError) in
                        try await node.exchange.publish(request.payloads, on: request.topic)
                    }
                case .query(let person):
                    var known: [DeviceInfo] = []
                    try await tolerating(true) { () async throws(PushClientError) in known = try await renewed(person) }
                    delivery.learned(known, of: person, at: elapsed())
                }
            }
            var envelopes: [WakuEnvelope] = []
            try await tolerating(true) { () async throws(PushClientError) in
                envelopes = try await node.exchange.messages(on: [answerTopic], since: start)
            }
            for envelope in envelopes {
                guard let opened = reader.read(envelope, now: node.now) else { continue }
                let server = IdentityKey(opened.sender)
                guard let response = requests[server]?.answer(in: opened) else { continue }
                delivery.received(response.reports.map(DeviceReport.init), from: server, at: elapsed())
            }
            if let reports = delivery.reports {
                for person in Set(reports.map(\.person)) { try await forget(person) { delivery.isForgotten($0, of: person) } }
                return reports
            }
            try await node.exchange.sleep(for: rhythm.next())
        }
    }

    /// Once something is under way, trouble with the node must not hide what came of it.
    private func tolerating(
        _ isUnderWay: Bool, _ body: () async throws(PushClientError) -> Void
    ) async throws(PushClientError) {
        do {
            try await body()
        } catch {
            guard isUnderWay, error != .cancelled else { throw error }
            listeners.send(.troubled(error))
        }
    }

    /// What a server does not know any more is not asked of it again.
    private func forget(_ person: IdentityKey, where isForgotten: (DeviceInfo) -> Bool) async throws(PushClientError) {
        guard var known = try await known(person), known.devices.contains(where: isForgotten) else { return }
        known.remove(where: isForgotten)
        _ = try await keep(known, of: person)
    }

    /// The tokens are not what they were; what else is known of the person stays.
    private func renewed(_ person: IdentityKey) async throws(PushClientError) -> [DeviceInfo] {
        let learned = try await query(person)
        let known = try await known(person)?.devices ?? []
        return try await keep(
            KnownDevices(learned + known, lastActiveFirst: known.map(\.installationID), learnedAt: node.now), of: person)
    }
}

extension [DeviceInfo] {
    fileprivate func have(_ installationIDs: [String]) -> Bool {
        Set(installationIDs).isSubset(of: map(\.installationID))
    }
}

/// What a ``SendingClient`` finds out.
public enum SendingEvent: Hashable, Sendable {
    /// What is known of a person's devices changed.
    case learned(person: IdentityKey, devices: [DeviceInfo])
    /// Something is wrong with the node or the state file; it is tried again.
    case troubled(PushClientError)
}
