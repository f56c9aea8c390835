import Bytes
import Envelope
import StatusCrypto
import Tasks
import Wire

/// Finds the devices of recipients and requests pushes to them.
///
///     let client = SendingClient(identity: identity, node: node, state: try JSONFileState(path: "push.json"))
///     let reports = try await client.push(message, to: [Recipient(friend)])
///
/// All requests use ephemeral keys, so the network doesn't learn the sender. A server may recognise the hashes of author and chat
/// (SECURITY.md, "What a push request reveals").
public actor SendingClient {
    /// The default number of devices per owner. "At least 3 devices SHOULD be targeted" (71/STATUS-PUSH-NOTIFICATION-SERVER).
    public static let defaultMaximumDeviceCount = 3
    /// The default time for replies to a query, as in reference clients.
    public static let defaultQueryTimeout = Duration.seconds(3)
    /// How long the client waits before it subscribes to advertisements again after the node has failed.
    package static let followingRetryDelay = Duration.seconds(5)

    let identity: Identity?
    let node: Node
    let listeners = Broadcast<SendingEvent>()
    let state: BoundedState
    let keepsUnsentPushes: Bool
    private let queryTimeout: Duration
    /// Wakes `run` when there is another push to send.
    let changes = Notify()

    /// Creates a client. Sends nothing.
    ///
    /// - Parameters:
    ///   - identity: The identity that recipients may have as a contact. It decrypts the access tokens that they encrypted for it, and
    ///     never signs a request.
    ///   - node: The node that carries the messages.
    ///   - state: The storage of known devices.
    ///   - queryTimeout: The time for replies to a query.
    ///   - keepsUnsentPushes: Whether pushes that cannot be sent, because the node is down, are kept in the state, so that ``run()`` sends
    ///     them later: at most 100, for 24 hours. Their ciphertexts are then in the state.
    public init(
        identity: Identity? = nil, node: Node, state: any ClientState, queryTimeout: Duration = defaultQueryTimeout,
        keepsUnsentPushes: Bool = false
    ) {
        self.identity = identity
        self.node = node
        self.state = BoundedState(state, for: node)
        self.queryTimeout = queryTimeout
        self.keepsUnsentPushes = keepsUnsentPushes
    }

    /// The events from now on. Each call returns a new stream, which buffers the last 100 events.
    public nonisolated func events() -> AsyncStream<SendingEvent> { listeners.subscribe(bufferingNewest: 100) }

    // MARK: Lookup

    /// Returns an owner's devices, which are already known, advertised, or returned by servers.
    ///
    /// A lookup from the last day is used as it is. But if it found nobody, or a device without its token, it is repeated after 1, 5 and 30
    /// minutes, then daily. A lookup searches the node's store for the owner's advertisements. If they leave a token open, it queries every
    /// server that knows the owner.
    /// - Parameters:
    ///   - owner: The owner's chat key, or the owner's key for anonymous mode.
    ///   - refreshes: Whether to look the owner up even if devices are known.
    /// - Returns: A device info for each installation and server, even if this client may not use its token. Empty if no device is found.
    ///   The last active installation is first, as far as advertisements tell. The others follow, the newest registration first.
    /// - Throws: ``PushClientError``. A missing reply is not an error.
    public func devices(of owner: PublicKey, refreshes: Bool = false) async throws -> [DeviceInfo] {
        try await node.watching {
            let known = try await self.known(owner)
            if let known, known.isFresh(at: self.node.now), !refreshes { return known.devices }
            return try await self.lookUp(owner, knownAs: known)
        }
    }

    /// - Parameter wanted: The installations to query if they are not advertised.
    private func lookUp(
        _ owner: PublicKey, knownAs known: KnownDevices?, wanted: [String] = []
    ) async throws -> [DeviceInfo] {
        var subscription = Subscription(to: [.contactCode(owner.publicKey)], since: Advertisement.start(at: node.now))
        var advertised = AdvertisedDevices(of: owner)
        for arrival in try await subscription.next(from: node) {
            advertised.take(arrival.message, sentAt: arrival.sentAt, to: identity?.privateKey)
        }
        var learned = advertised.devices
        var others: [DeviceInfo] = []
        var isComplete: Bool?
        let isOpen = learned.isEmpty || learned.contains { $0.accessToken == nil } || !learned.have(wanted)
        if isOpen, !advertised.isWithdrawn {
            do {
                let answered = try await query(owner)
                learned = answered.verified + learned
                others = answered.notVerified
            } catch let error as PushClientError where error.code != .stateUnusable && learned.contains(where: { $0.accessToken != nil }) {
                report(.failing(error))
                isComplete = false
            }
            // Without any reply that the owner has authorised, the previously known devices are used.
            if learned.isEmpty, let known {
                let usable = others.isEmpty ? known.devices : known.devices.filter { $0.accessToken != nil }
                (learned, isComplete) = (usable, false)
            }
        }
        return try await keep(
            KnownDevices(
                learned, others: others, lastActiveFirst: advertised.installationIDs, learnedAt: node.now, after: known,
                isComplete: isComplete), of: owner)
    }

    /// Queries every server that knows the owner, regardless of known devices.
    ///
    /// The first query has the reference's form. If no server replies to it with a device that the owner verifiably registered, a second
    /// query has the specification's.
    /// - Returns: The devices that the owner has authorised, or an empty list if no server knows the owner: at most 16 of a server and 64
    ///   in all. Those that show no token to this client are last, because anyone can claim to have such a device.
    public func query(_ owner: PublicKey) async throws -> [DeviceInfo] {
        try await node.watching {
            var answers = QueryAnswers(
                about: owner, to: self.identity?.privateKey, knowing: try await self.known(owner)?.devices ?? [])
            for form in TopicName.QueryForm.allCases {
                let request = try self.node.sealing { random throws(RFC26.DataTooLong) in
                    let ephemeral = PrivateKey.generate(using: &random)
                    return try SealedQuery(
                        about: owner.hash, of: nil, form: form, requester: ephemeral, segmenter: self.node.segmenter, using: &random)
                }
                var isVerified = false
                // Servers that do not know the owner reply with an empty list, or not at all (PROTOCOL.md §8).
                try await self.node.exchange.collect(request, for: self.queryTimeout) { reply in
                    let hasGrant = answers.take(reply)
                    isVerified = isVerified || hasGrant
                    return hasGrant ? Exchange.graceForOthers : nil
                }
                if isVerified { break }
            }
            return answers.devices
        }
    }

    /// Returns the devices known to this client's identity: a token encrypted for a contact is useless to anyone else.
    func known(_ owner: PublicKey) async throws -> KnownDevices? {
        try await state.value(named: StateName.devices(of: owner, for: identity?.publicKey))
    }

    func keep(_ known: KnownDevices, of owner: PublicKey) async throws -> [DeviceInfo] {
        let before = try await self.known(owner)?.devices
        try await state.save(known, named: StateName.devices(of: owner, for: identity?.publicKey))
        if known.devices != before { report(.learned(owner: owner, devices: known.devices)) }
        return known.devices
    }

    // MARK: Sending

    /// Notifies recipients of a message: those whose devices are known at once, the others as soon as they are looked up.
    ///
    /// Servers are tried in turn for each device. If a server does not reply within 3 s, the client tries another that knows the device. If
    /// a server rejects the token, the client queries the current token and retries once under the same message id. It also retries after a
    /// server's internal error.
    /// - Parameters:
    ///   - message: The message.
    ///   - recipients: The recipients, optionally with their devices.
    ///   - maximumDeviceCount: The maximum number of devices per owner.
    /// - Returns: A report for each device, and for each owner without a known device. An owner who cannot be looked up does not keep
    ///   anyone else from being notified.
    /// - Throws: ``PushClientError/Code/invalidPush`` as ``PushMessage`` says, ``PushClientError/Code/stateUnusable``, `CancellationError`,
    ///   or another ``PushClientError`` if nothing could be sent. The reports contain the servers' responses.
    public func push(
        _ message: PushMessage, to recipients: [Recipient], maximumDeviceCount: Int = defaultMaximumDeviceCount
    ) async throws -> [DeliveryReport] {
        try await node.watching { try await self.notify(of: message, recipients, maximumDeviceCount) }
    }

    private func notify(
        of message: PushMessage, _ recipients: [Recipient], _ maximumDeviceCount: Int
    ) async throws -> [DeliveryReport] {
        try message.check()
        guard keepsUnsentPushes else { return try await send(message, to: recipients, maximumDeviceCount: maximumDeviceCount) }
        let reports: [DeliveryReport]
        do {
            reports = try await send(message, to: recipients, maximumDeviceCount: maximumDeviceCount)
        } catch let error as PushClientError where error.isOfNode {
            reports = recipients.map { DeliveryReport(owner: $0.owner, installationID: nil, outcome: .lookupFailed(error)) }
        }
        let unsent = Self.unsent(recipients, in: reports)
        guard !unsent.isEmpty else { return reports }
        try await keep(message, for: unsent, maximumDeviceCount: maximumDeviceCount)
        return reports.map { $0.outcome.error == nil ? $0 : DeliveryReport(owner: $0.owner, installationID: nil, outcome: .kept) }
    }

    /// Sends a push now, or not at all.
    func send(_ message: PushMessage, to recipients: [Recipient], maximumDeviceCount: Int) async throws -> [DeliveryReport] {
        var known: [(Recipient, Lookup)] = []
        var others: [Recipient] = []
        for recipient in recipients {
            if let lookup = try await knownDevices(of: recipient) { known.append((recipient, lookup)) } else { others.append(recipient) }
        }
        // Whoever is known does not wait for the lookups of others, which take seconds.
        async let first = send(message, to: known, maximumDeviceCount)
        async let second = send(message, to: lookUp(others), maximumDeviceCount)
        let parts = try await [first, second].filter { !$0.reports.isEmpty }
        let failures = parts.compactMap(\.failure)
        if let failure = failures.first, failures.count == parts.count { throw failure }
        return parts.flatMap(\.reports)
    }

    /// The results for some of the recipients.
    private struct Part {
        var reports: [DeliveryReport] = []
        /// Why nothing could be sent to any of them.
        var failure: PushClientError?
    }

    private func send(_ message: PushMessage, to lookups: [(Recipient, Lookup)], _ maximumDeviceCount: Int) async throws -> Part {
        var targets: [PushDelivery.Target] = []
        var part = Part()
        var failures: [PushClientError] = []
        for (recipient, lookup) in lookups {
            switch lookup {
            case .failed(let error):
                failures.append(error)
                part.reports.append(DeliveryReport(owner: recipient.owner, installationID: nil, outcome: .lookupFailed(error)))
            case .devices(let devices, let nextLookup):
                let installationIDs = Self.choose(recipient, among: devices).prefix(maximumDeviceCount)
                targets += installationIDs.map {
                    .init(owner: recipient.owner, installationID: $0, routes: PushDelivery.Route.routes(to: $0, among: devices))
                }
                guard installationIDs.isEmpty else { continue }
                var report = DeliveryReport(owner: recipient.owner, installationID: nil, outcome: .unknown)
                report.nextLookup = nextLookup
                part.reports.append(report)
            }
        }
        if failures.count == lookups.count { part.failure = failures.first }
        guard !targets.isEmpty else { return part }
        do {
            part.reports = try await deliver(message, PushDelivery(to: targets)) + part.reports
        } catch let error as PushClientError where error.code != .stateUnusable {
            let owners = Set(targets.map(\.owner))
            part.failure = error
            part.reports += owners.map { DeliveryReport(owner: $0, installationID: nil, outcome: .notSent(error)) }
        }
        return part
    }

    private enum Lookup: Sendable {
        /// - Parameter nextLookup: The time until the next lookup, if this is the result of an earlier one.
        case devices([DeviceInfo], nextLookup: Duration? = nil)
        /// No devices are known, and the node failed.
        case failed(PushClientError)
    }

    /// Returns the devices of a recipient whom nobody needs to look up now, or nil.
    private func knownDevices(of recipient: Recipient) async throws -> Lookup? {
        let now = node.now
        guard let known = try await known(recipient.owner), known.isFresh(at: now) else { return nil }
        // The recipient may name a device that is newer than the last lookup.
        if let wanted = recipient.installationIDs, !known.devices.have(wanted), known.mayBeRefreshed(at: now) { return nil }
        return .devices(known.devices, nextLookup: known.remainingLifetime(at: now))
    }

    /// Looks all recipients up concurrently, because each lookup may take seconds.
    private func lookUp(_ recipients: [Recipient]) async throws -> [(Recipient, Lookup)] {
        try await withThrowingTaskGroup(of: (Int, Lookup).self) { group in
            for (index, recipient) in recipients.enumerated() {
                group.addTask { (index, try await self.lookUp(recipient)) }
            }
            var lookups: [Int: Lookup] = [:]
            for try await (index, lookup) in group { lookups[index] = lookup }
            return recipients.enumerated().map { ($1, lookups[$0] ?? .devices([])) }
        }
    }

    private func lookUp(_ recipient: Recipient) async throws -> Lookup {
        do {
            let known = try await known(recipient.owner)
            return .devices(try await lookUp(recipient.owner, knownAs: known, wanted: recipient.installationIDs ?? []))
        } catch let error as PushClientError where error.code != .stateUnusable {
            report(.failing(error))
            // Devices seldom change, so an earlier lookup may still be right.
            guard let known = try await known(recipient.owner), known.devices.contains(where: { $0.accessToken != nil }) else {
                return .failed(error)
            }
            return .devices(known.devices)
        }
    }

    /// Returns the named devices, or all that can be notified, in the given order.
    private static func choose(_ recipient: Recipient, among devices: [DeviceInfo]) -> [String] {
        if let wanted = recipient.installationIDs { return wanted }
        var seen: Set<String> = []
        return devices.filter { $0.accessToken != nil }.map(\.installationID).filter { seen.insert($0).inserted }
    }

    private func deliver(_ message: PushMessage, _ delivery: PushDelivery) async throws -> [DeliveryReport] {
        var delivery = delivery
        var random = node.makeRandom()
        // A single ephemeral key for all servers: the message id links the requests anyway.
        let requester = PrivateKey.generate(using: &random)
        let replyTopic = TopicName.partitioned(requester.publicKey).topic
        let start = node.now.advanced(by: .zero - Exchange.clockTolerance)
        let elapsed = node.exchange.stopwatch()
        var reader = TopicReader(.asymmetric(requester))
        var requests: [PublicKey: SealedPushRequest] = [:]
        var rhythm = PollRhythm()
        var hasPublished = false
        // The subscription precedes the requests, so that a node that cannot receive fails before a request has an effect.
        var subscription: Inbox? = try await node.exchange.subscribe(to: [replyTopic])

        while true {
            let actions = delivery.next(at: elapsed())
            if !actions.isEmpty { rhythm = PollRhythm() }
            var newRequests: [SealedPushRequest] = []
            for case .request(let server, let devices) in actions {
                let request = try node.sealing { random throws(RFC26.DataTooLong) in
                    try SealedPushRequest(
                        message, to: devices, requester: requester, server: server.publicKey, segmenter: node.segmenter, using: &random)
                }
                requests[server] = request
                newRequests.append(request)
            }
            if let failure = try await publish(newRequests), !hasPublished { throw failure }
            hasPublished = true
            for case .query(let owner) in actions {
                var known: [DeviceInfo] = []
                try await tolerating { () async throws in known = try await renewed(owner) }
                delivery.learned(known, of: owner, at: elapsed())
            }
            var envelopes: [WakuEnvelope] = []
            try await tolerating { () async throws in
                if let inbox = subscription {
                    // After a failure, the subscription starts again.
                    subscription = nil
                    envelopes = try node.exchange.take(from: inbox)
                    subscription = inbox
                } else {
                    let inbox = try await node.exchange.subscribe(to: [replyTopic])
                    subscription = inbox
                    envelopes = try await node.exchange.history(of: [replyTopic], since: start)
                }
            }
            for envelope in envelopes {
                guard let opened = reader.read(envelope, now: node.now) else { continue }
                let server = PublicKey(opened.sender)
                guard let response = requests[server]?.answer(in: opened) else { continue }
                delivery.received(response.reports.map(DeviceReport.init), from: server, at: elapsed())
            }
            if let reports = delivery.reports {
                for owner in Set(reports.map(\.owner)) { try await forget(owner) { delivery.isForgotten($0, of: owner) } }
                return reports.map { report in
                    var report = report
                    report.isWakeUpOnly = report.outcome.isAccepted && message.ciphertext.count > PushMessage.maximumWholeByteCount
                    return report
                }
            }
            if let subscription {
                try await node.exchange.wait(for: subscription, atMost: rhythm.next())
            } else {
                try await node.exchange.sleep(for: rhythm.next())
            }
        }
    }

    /// Publishes the requests concurrently, so that none waits for another.
    ///
    /// - Returns: An error if the node rejected all of them. If some may have been published, the rejected requests count as servers
    ///   without reply.
    private func publish(_ requests: [SealedPushRequest]) async throws -> PushClientError? {
        let failures = try await withThrowingTaskGroup(of: PushClientError?.self) { [exchange = node.exchange] group in
            for request in requests {
                group.addTask {
                    do {
                        _ = try await exchange.publishRequest(request.payloads, on: request.topic)
                        return nil
                    } catch let error as PushClientError {
                        return error
                    }
                }
            }
            var failures: [PushClientError] = []
            for try await case let failure? in group { failures.append(failure) }
            return failures
        }
        for failure in failures { report(.failing(failure)) }
        return failures.count == requests.count ? failures.first : nil
    }

    /// Reports a node's error as an event instead of throwing it, so that it does not hide the results of earlier requests.
    private func tolerating(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let failure as PushClientError {
            report(.failing(failure))
        }
    }

    func report(_ event: SendingEvent) {
        listeners.send(event)
        event.log(to: node.logger)
    }

    /// Forgets devices that a server does not know any more.
    private func forget(_ owner: PublicKey, where isForgotten: (DeviceInfo) -> Bool) async throws {
        guard var known = try await known(owner), known.devices.contains(where: isForgotten) else { return }
        known.remove(where: isForgotten)
        _ = try await keep(known, of: owner)
    }

    /// Looks an owner up again after a wrong token. The owner's other known devices stay.
    private func renewed(_ owner: PublicKey) async throws -> [DeviceInfo] {
        let answered = try await query(owner)
        let known = try await known(owner)
        let devices = known?.devices ?? []
        return try await keep(
            KnownDevices(
                answered.verified + devices, others: answered.notVerified, lastActiveFirst: devices.map(\.installationID),
                learnedAt: node.now, after: known), of: owner)
    }
}

extension [DeviceInfo] {
    /// The devices that the owner has verifiably registered.
    var verified: [DeviceInfo] { filter { $0.authorization == .verified } }
    var notVerified: [DeviceInfo] { filter { $0.authorization != .verified } }

    fileprivate func have(_ installationIDs: [String]) -> Bool {
        Set(installationIDs).isSubset(of: map(\.installationID))
    }
}
