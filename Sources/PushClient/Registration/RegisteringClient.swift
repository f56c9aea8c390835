import Concurrency
import Envelope
import FoundationEssentials
import StatusCrypto
import Wire

/// Keeps a device registered with any number of push servers, all of which know the same.
///
///     let client = try await RegisteringClient(identity: identity, node: node, state: try ClientState(path: "push.sqlite"))
///     let statuses = try await client.register(device, with: [first, second])
///     async let keeping: Void = client.run()
///
/// What is wanted is saved at once, and what a server does not know yet it is told: ``register(_:with:)`` tries each server once,
/// ``run()`` goes on trying, waiting longer each time. A server is written to again only if what it is to know has changed.
///
/// For **anonymous mode** give it an identity of its own, made with ``Identity/generate()`` for that and kept beside the chat key. Nothing
/// that this client sends is made with any other key: servers, and whoever watches the network, cannot tell whose device it is. Only who is
/// given the identity's public key can find and notify the device.
public actor RegisteringClient {
    /// How often the servers are advertised though nothing changed: nodes keep messages for some days only.
    public static let defaultAdvertisingInterval = Duration.seconds(12 * 60 * 60)

    /// What the device is registered and found by.
    public nonisolated let publicKey: IdentityKey
    let identity: Identity
    let node: Node
    let advertisingInterval: Duration?
    private let state: ClientState
    private let timeout: Duration
    var plan: RegistrationPlan
    private var random: Randomness
    /// Servers that are being written to.
    private var underWay: Set<IdentityKey> = []
    private let listeners = Broadcast<RegistrationEvent>()
    /// Tells `run` that there is something new to wait for.
    private let changes = Notify()

    /// Makes a client, and reads what it knew when it ended. Nothing is sent.
    ///
    /// - Parameters:
    ///   - identity: registers. One client a program at a time.
    ///   - installationID: tells the devices of one identity apart, 1 to 128 bytes; nil for the one it had before, or a new random UUID.
    ///   - node: carries the messages.
    ///   - state: keeps what each server knows, and the version.
    ///   - timeout: how long to wait for each answer.
    ///   - advertisingInterval: nil for never: then only servers, asked by those who know them or not, tell where the device is registered.
    /// - Throws: ``PushClientError/stateUnusable(reason:)``.
    public init(
        identity: Identity, installationID: String? = nil, node: Node, state: ClientState,
        timeout: Duration = PushServer.defaultTimeout, advertisingInterval: Duration? = defaultAdvertisingInterval
    ) async throws(PushClientError) {
        self.identity = identity
        self.node = node
        self.state = state
        self.timeout = timeout
        self.advertisingInterval = advertisingInterval
        publicKey = identity.publicKey
        random = Randomness()
        if let saved = try await state.plan(of: identity.publicKey, installationID: installationID) {
            plan = saved
        } else {
            plan = RegistrationPlan(installationID: installationID ?? UniversallyUniqueID.random(using: &random))
        }
    }

    /// Tells the devices of one identity apart.
    public var installationID: String { plan.installationID }

    /// What senders have to show, the same at all servers; nil before the first registration.
    public var accessToken: String? { plan.accessToken.isEmpty ? nil : plan.accessToken }

    /// How it stands with each server.
    public var statuses: [ServerStatus] { plan.statuses }

    /// What the client does and finds out from now on. Each call gives a stream of its own, which keeps the last 100 events.
    public nonisolated var events: AsyncStream<RegistrationEvent> { listeners.subscribe(bufferingNewest: 100) }

    // MARK: What is wanted

    /// From now on these servers, and no others, are to know this device. Servers of before that are not named are told to forget it.
    ///
    /// The access token is renewed when a contact is missing that was there before, and when the device is now for contacts only. If
    /// nothing changes, nothing is sent, except to servers that do not know all yet. Each of those is tried once, by this call or by
    /// ``run()`` if that is at it.
    /// - Returns: how it stands then.
    /// - Throws: ``PushClientError/stateUnusable(reason:)``; what servers and node do is in the statuses and the ``events``.
    @discardableResult
    public func register(_ device: Device, with servers: [IdentityKey]) async throws(PushClientError) -> [ServerStatus] {
        try await change { $0.register(device, with: servers, using: &$1) }
    }

    /// Makes one server forget the device.
    ///
    /// - Returns: how it stands with the others, and with that one if it did not answer.
    /// - Throws: as ``register(_:with:)``.
    @discardableResult
    public func unregister(from server: IdentityKey) async throws(PushClientError) -> [ServerStatus] {
        try await change { plan, _ in plan.unregister(from: server) }
    }

    /// Makes all servers forget the device, on logout for example.
    ///
    /// - Returns: the servers that did not confirm it yet.
    /// - Throws: as ``register(_:with:)``.
    @discardableResult
    public func unregister() async throws(PushClientError) -> [ServerStatus] {
        try await change { plan, _ in
            for status in plan.statuses { plan.unregister(from: status.server) }
        }
    }

    private func change(
        _ body: (inout RegistrationPlan, inout Randomness) -> Void
    ) async throws(PushClientError) -> [ServerStatus] {
        var changed = plan
        body(&changed, &random)
        if changed != plan {
            plan = changed
            try await save()
        }
        try await writeToDueServers()
        do throws(PushClientError) {
            try await advertiseIfDue()
        } catch {
            // `run` does it again.
            listeners.send(.troubled(error))
        }
        changes.notify()
        return statuses
    }

    /// Tells one server, whatever it is known to know, and no other. For tools, whose users want to see an answer.
    ///
    /// - Parameter device: nil: the server is to forget it.
    /// - Throws: what the server or the node did.
    package func tell(_ device: Device?, to server: IdentityKey) async throws(PushClientError) -> RegistrationReceipt {
        if let device {
            plan.register(device, with: plan.wantedServers + [server], using: &random)
        } else {
            plan.unregister(from: server)
        }
        plan.repeatOrder(to: server)
        try await save()
        while let attempt = try await write(to: server) {
            switch attempt.event {
            case .retrying(_, let reason, _), .stopped(_, let reason): throw reason
            case .registered, .unregistered: return attempt.receipt
            default: continue
            }
        }
        throw .cancelled
    }

    // MARK: What is done

    /// Goes on until the task is cancelled: tries servers again that did not answer, and advertises from time to time.
    public func run() async {
        var troubleCount = 0
        while !Task.isCancelled {
            do throws(PushClientError) {
                try await writeToDueServers()
                try await advertiseIfDue()
                troubleCount = 0
            } catch {
                listeners.send(.troubled(error))
                troubleCount += 1
            }
            await waitForWork(atLeast: troubleCount == 0 ? .zero : BackOff.registering.delay(afterFailures: troubleCount, using: &random))
        }
    }

    /// Until there is something to do, or may be.
    private func waitForWork(atLeast minimum: Duration) async {
        let now = node.now
        // Never for longer: clocks are set now and then.
        let longest = BackOff.registering.longest
        let next = [plan.nextAttempt(after: now, except: underWay), nextAdvertisement(after: now)].compactMap { $0 }.min()
        let pause = max(minimum, next.map { min(now.duration(to: $0), longest) } ?? longest)
        await changes.wait(atMost: pause, clock: node.exchange.clock)
    }

    /// All at once, each of them as often as is to be done without waiting.
    private func writeToDueServers() async throws(PushClientError) {
        let servers = plan.due(at: node.now).filter { underWay.insert($0).inserted }
        let failure = await withTaskGroup(returning: PushClientError?.self) { group in
            for server in servers {
                group.addTask { await self.writeAsLongAsDue(to: server) }
            }
            var failure: PushClientError?
            for await result in group { failure = failure ?? result }
            return failure
        }
        if let failure { throw failure }
    }

    /// - Returns: what keeps it from being tried at all.
    private func writeAsLongAsDue(to server: IdentityKey) async -> PushClientError? {
        defer { underWay.remove(server) }
        do throws(PushClientError) {
            while plan.due(at: node.now).contains(server), !Task.isCancelled { _ = try await write(to: server) }
            return nil
        } catch {
            return error
        }
    }

    /// What came of one request.
    private struct Attempt {
        let event: RegistrationEvent?
        /// What the server confirmed, if it did.
        let receipt: RegistrationReceipt
    }

    /// One request and its answer.
    ///
    /// - Returns: nil if there is nothing to tell the server, or the task was cancelled.
    private func write(to server: IdentityKey) async throws(PushClientError) -> Attempt? {
        guard let order = plan.order(to: server, now: node.now) else { return nil }
        var requestID = ""
        let event: RegistrationEvent?
        do throws(PushClientError) {
            let request = try seal(order)
            requestID = request.requestID
            // What leaves unsaved could be forgotten, and its version used again.
            plan.note(requestID, of: order)
            try await save()
            let answer = try await node.exchange.ask(request, timeout: timeout)
            event = plan.answered(answer.response, requestID: answer.requestID, by: server, now: node.now, using: &random)
        } catch .cancelled {
            // Not the server's fault; an answer still counts if somebody looks.
            return nil
        } catch .stateUnusable(let reason) {
            throw .stateUnusable(reason: reason)
        } catch {
            event = plan.failed(error, to: server, now: node.now, using: &random)
        }
        report(event)
        try await save()
        return Attempt(
            event: event,
            receipt: RegistrationReceipt(
                installationID: plan.installationID, version: order.version,
                accessToken: order.device == nil ? nil : plan.accessToken, requestID: requestID))
    }

    private func seal(_ order: RegistrationOrder) throws(PushClientError) -> SealedOrder {
        let registration =
            if let device = order.device {
                PushNotificationRegistration(
                    device, installationID: plan.installationID, accessToken: plan.accessToken, version: order.version,
                    from: identity.privateKey, to: order.server.publicKey, using: &random)
            } else {
                PushNotificationRegistration(unregistering: plan.installationID, version: order.version)
            }
        let earlier = plan.requestIDs(waitingFor: order.server)
        return try node.sealing { random throws(RFC26.DataTooLong) in
            SealedOrder(
                try SealedRegistration(
                    registration, from: identity.privateKey, to: order.server.publicKey, segmenter: node.segmenter, using: &random),
                earlierRequestIDs: earlier, server: order.server.publicKey)
        }
    }

    func save() async throws(PushClientError) {
        plan.countRevision()
        try await state.save(plan, of: publicKey)
    }

    func report(_ event: RegistrationEvent?) {
        if let event { listeners.send(event) }
    }
}

/// A registration whose answer may also be a late one to an earlier request: a server that is slow would never be heard otherwise.
private struct SealedOrder: SealedRequest {
    struct Answer: Sendable {
        let requestID: String
        let response: PushNotificationRegistrationResponse
    }

    private let request: SealedRegistration
    private let earlierRequestIDs: Set<String>
    private let server: PublicKey

    init(_ request: SealedRegistration, earlierRequestIDs: Set<String>, server: PublicKey) {
        self.request = request
        self.earlierRequestIDs = earlierRequestIDs
        self.server = server
    }

    var asker: PrivateKey { request.asker }
    var topic: TopicName { request.topic }
    var payloads: [[UInt8]] { request.payloads }
    var requestID: String { request.requestID.description }

    func answer(in message: OpenedMessage) -> Answer? {
        if let response = request.answer(in: message) { return Answer(requestID: requestID, response: response) }
        guard message.sender == server, message.type == .pushNotificationRegistrationResponse,
            let response = try? PushNotificationRegistrationResponse.decode(message.payload), response.success
        else { return nil }
        let requestID = Hex.encode(response.requestID)
        return earlierRequestIDs.contains(requestID) ? Answer(requestID: requestID, response: response) : nil
    }
}
