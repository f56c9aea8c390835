import Bytes
import Envelope
import FoundationEssentials
import StatusCrypto
import Tasks
import Wire

/// Keeps a device registered with any number of push servers, with the same content at all of them.
///
///     let client = try await RegisteringClient(identity: identity, node: node, state: try JSONFileState(path: "push.json"))
///     let statuses = try await client.register(device, with: [first, second])
///     async let keeping: Void = client.run()
///
/// Saves the desired state, then sends it to each server that lacks it: ``register(_:with:)`` tries each server once, ``run()`` retries
/// with growing delays. A server gets another request only if its registration has changed, and each week, because it may have lost it.
///
/// Several clients may share a state to keep a device registered, for example an app and its extension. Each finds out when another has
/// saved a change, and goes on from there.
///
/// For **anonymous mode** create a separate identity with ``Identity/generate()`` and store it apart from the chat key. The client signs
/// everything with this identity, so servers and network observers cannot tell whose device it is. Only those who receive the identity's
/// public key can find and notify the device.
public actor RegisteringClient {
    /// The interval at which an unchanged list of servers is advertised again, because nodes keep messages only for a few days.
    public static let defaultAdvertisingInterval = Duration.seconds(12 * 60 * 60)

    /// The default number of servers that are chosen among an app's default servers, as in reference clients.
    public static let defaultServerCount = 3

    /// The longest time that a call takes beyond the timeout for a reply, for everything that the node and the state do.
    static let maximumOverhead = Duration.seconds(90)

    /// The longest wait of ``run()``, because clocks are sometimes set.
    private static let longestWait = Duration.seconds(60 * 60)

    /// The identity's public key, by which senders find the device.
    public nonisolated let publicKey: PublicKey
    let identity: Identity
    let node: Node
    let advertisingInterval: Duration?
    /// The installation id of this device for which the state has a mark, and of no other.
    private let ownInstallationID: String?
    private let timeout: Duration
    var plan: RegistrationPlan
    var random: Randomness
    let state: BoundedState
    var saved: SavedPlan
    /// The last call to the state. The next call waits for it.
    var stateCall: Task<Void, Never>?
    /// The servers with a request in progress. Calls take turns to send to a server.
    private let busyServers = Monitor<Set<PublicKey>>([])
    /// Why each server's last request failed.
    private var errors: [PublicKey: PushClientError] = [:]
    /// Whether an advertisement is being published.
    let isAdvertising = Monitor(false)
    private let listeners = Broadcast<RegistrationEvent>()
    /// Wakes `run` when the next deadline may have changed.
    let changes = Notify()

    /// Creates a client with its saved state. Sends nothing.
    ///
    /// - Parameters:
    ///   - identity: The device's owner. A program may have only one client per identity.
    ///   - installationID: The UUID that distinguishes devices that share an identity. Reference servers reject other ids. Nil uses the
    ///     saved id, or else a UUID that is derived from the identity and the state's ``ClientState/deviceMark``, or without a mark a
    ///     random one.
    ///   - node: The node that carries the messages.
    ///   - state: Where each server's state and the version are saved.
    ///   - timeout: The time to wait for each reply.
    ///   - advertisingInterval: The interval between advertisements. Nil never advertises, so that senders find the device only through
    ///     servers.
    /// - Throws: ``PushClientError/Code/invalidRegistration`` for another id, ``PushClientError/Code/stateUnusable``.
    public init(
        identity: Identity, installationID: String? = nil, node: Node, state: any ClientState,
        timeout: Duration = PushServer.defaultTimeout, advertisingInterval: Duration? = defaultAdvertisingInterval
    ) async throws {
        guard installationID.map({ UniversallyUniqueID.isText($0.utf8[...]) }) != false else {
            throw PushClientError.invalidRegistration("The installation id must be a UUID: reference servers reject others.")
        }
        try await self.init(
            identity: identity, anyInstallationID: installationID, node: node, state: state, timeout: timeout,
            advertisingInterval: advertisingInterval)
    }

    /// Creates a client with an installation id of any form, which only servers of this project accept.
    package init(
        identity: Identity, anyInstallationID installationID: String?, node: Node, state: any ClientState,
        timeout: Duration = PushServer.defaultTimeout, advertisingInterval: Duration? = defaultAdvertisingInterval
    ) async throws {
        self.identity = identity
        self.node = node
        self.timeout = timeout
        self.advertisingInterval = advertisingInterval
        publicKey = identity.publicKey
        var random = Randomness()
        let bounded = BoundedState(state, for: node)
        ownInstallationID = state.deviceMark.map(identity.derivedInstallationID(onDevice:))
        (plan, saved) = try await Self.load(installationID, of: identity, from: bounded, using: &random)
        self.state = bounded
        self.random = random
    }

    /// The id that distinguishes devices that share an identity.
    public var installationID: String { plan.installationID }

    /// The access token that senders must present, the same at all servers, or nil before the first registration.
    public var accessToken: String? { plan.accessToken.isEmpty ? nil : plan.accessToken }

    /// How far each server is with the registration.
    public var statuses: [ServerStatus] {
        plan.statuses.map { status in
            var status = status
            status.error = errors[status.server]
            return status
        }
    }

    /// The events from now on. Each call returns a new stream, which buffers the last 100 events.
    public nonisolated func events() -> AsyncStream<RegistrationEvent> { listeners.subscribe(bufferingNewest: 100) }

    // MARK: Desired state

    /// Registers the device with exactly these servers and unregisters it from all others.
    ///
    /// The client renews the access token when a contact was removed, and when the device becomes available to contacts only. Unchanged
    /// servers don't get a request. All others are tried once. If ``run()`` has a request to a server in progress, this call waits for its
    /// result instead. The call returns at the latest 90 s after the timeout for a reply, even if the node or the state hangs.
    /// - Returns: The statuses after the attempts. The ``ServerStatus/error`` of a status that is not `registered` tells why.
    /// - Throws: ``PushClientError/Code/stateUnusable``, or ``PushClientError/Code/invalidRegistration`` if `servers` is empty, or servers
    ///   would not accept the device, for example because it has more than 8,192 contacts and chats. After `CancellationError`, the
    ///   desired state is saved, and the next call or ``run()`` sends it. The statuses and ``events()`` report failures of servers and
    ///   node.
    public func register(_ device: Device, with servers: [PublicKey]) async throws -> [ServerStatus] {
        try Self.check(device, servers)
        return try await change { $0.register(device, with: servers, using: &$1) }
    }

    /// Registers the device with a random choice among an app's default servers, and unregisters it from all others.
    ///
    /// Reference clients do the same, so that an app's devices spread over its servers. The choice is saved. Later calls keep it, and
    /// replace only servers that are no longer defaults.
    /// - Parameter count: The number of servers to choose, at least one.
    /// - Returns: The statuses after the attempts.
    /// - Throws: The errors of ``register(_:with:)``.
    public func register(_ device: Device, withSomeOf servers: [PublicKey], count: Int = defaultServerCount) async throws -> [ServerStatus]
    {
        try Self.check(device, count < 1 ? [] : servers)
        return try await change { plan, random in
            let kept = plan.wantedServers.filter(servers.contains).prefix(count)
            let others = Set(servers).subtracting(kept).shuffled(using: &random).prefix(count - kept.count)
            plan.register(device, with: Array(kept) + others, using: &random)
        }
    }

    /// An app whose list of servers could not be loaded must not silence its user, so nothing is unregistered by an empty list.
    private static func check(_ device: Device, _ servers: [PublicKey]) throws {
        guard !servers.isEmpty else {
            throw PushClientError.invalidRegistration(
                "A registration needs at least one server. To unregister the device from all servers, call unregister().")
        }
        try device.check()
    }

    /// Unregisters the device from a server.
    ///
    /// - Returns: The statuses after the attempt. This server is no longer among them, unless it did not reply.
    /// - Throws: The errors of ``register(_:with:)``.
    @discardableResult
    public func unregister(from server: PublicKey) async throws -> [ServerStatus] {
        try await change { plan, _ in plan.unregister(from: server) }
    }

    /// Unregisters the device from all servers, for example on logout.
    ///
    /// - Returns: The servers that have not confirmed yet.
    /// - Throws: The errors of ``register(_:with:)``.
    @discardableResult
    public func unregister() async throws -> [ServerStatus] {
        try await change { plan, _ in
            for status in plan.statuses { plan.unregister(from: status.server) }
        }
    }

    private func change(
        call: String = #function, _ body: @escaping @Sendable (inout RegistrationPlan, inout Randomness) -> Void
    ) async throws -> [ServerStatus] {
        // What is not finished then goes on in `run`.
        _ = try await node.watching(call) { [node, timeout] in
            try await withTimeout(timeout + Self.maximumOverhead, clock: node.exchange.limitClock) {
                try await self.changeAndSend(body)
            }
        }
        try Task.checkCancellation()
        changes.notify()
        return statuses
    }

    private func changeAndSend(_ body: @escaping @Sendable (inout RegistrationPlan, inout Randomness) -> Void) async throws {
        try await reloadAndUpdate(body)
        try await write(to: plan.due(at: node.now))
        do {
            try await advertiseIfDue()
        } catch let error as PushClientError {
            // `run` retries.
            report(.failing(error))
        }
    }

    /// Sends a request to a single server, even if the server has confirmed the same content. For tools, whose users want to see a reply.
    ///
    /// - Parameter device: The device, or nil to unregister.
    /// - Throws: The server's or the node's failure.
    package func tell(_ device: Device?, to server: PublicKey) async throws -> RegistrationReceipt {
        try await update { plan, random in
            if let device {
                plan.register(device, with: plan.wantedServers + [server], using: &random)
            } else {
                plan.unregister(from: server)
            }
            plan.repeatOrder(to: server)
        }
        while let attempt = try await write(to: server) {
            guard let event = attempt.event else { continue }
            if let error = event.error { throw error }
            return attempt.receipt
        }
        throw CancellationError()
    }

    // MARK: Actions

    /// Runs until the task is cancelled: retries servers that did not reply, renews registrations each week, and advertises from time to
    /// time.
    ///
    /// Nothing that may pass ends it: an unreachable node is tried each half hour, and at once when any client of the ``Node`` has reached
    /// it. A silent server is tried ever more seldom, at last once a day.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.noticeRecoveries() }
            await self.keepRegistered()
            group.cancelAll()
        }
    }

    private func keepRegistered() async {
        var failureCount = 0
        while !Task.isCancelled {
            do {
                let idleServers = plan.due(at: node.now).filter { server in busyServers.read { !$0.contains(server) } }
                try await write(to: idleServers)
                try await advertiseIfDue()
                failureCount = 0
            } catch {
                guard let failure = error as? PushClientError else { continue }
                report(.failing(failure))
                failureCount += 1
            }
            await waitForWork(atLeast: failureCount == 0 ? .zero : BackOff.node.delay(afterFailures: failureCount, using: &random))
        }
    }

    /// Makes what waits for the node due when it works again.
    private func noticeRecoveries() async {
        for await _ in node.exchange.recoveries.subscribe(bufferingNewest: 1) {
            // A state that fails now fails the next update too, which reports it.
            _ = try? await update { plan, _ in plan.noteRecovery() }
        }
    }

    /// Waits until work is due or may be due.
    private func waitForWork(atLeast minimum: Duration) async {
        let now = node.now
        let next = [plan.nextAttempt(after: now, except: busyServers.read(\.self)), nextAdvertisement(after: now)].compactMap { $0 }.min()
        let pause = max(minimum, next.map { min(now.duration(to: $0), Self.longestWait) } ?? Self.longestWait)
        _ = await withTimeout(pause, clock: node.exchange.clock) { [changes] in await changes.wait() }
    }

    /// Writes to the servers concurrently, to each as often as is possible without waiting for its back-off.
    private func write(to servers: [PublicKey]) async throws {
        let failure = await withTaskGroup(returning: (any Error)?.self) { group in
            for server in servers {
                group.addTask { await self.sendWhileDue(to: server) }
            }
            var failure: (any Error)?
            for await result in group { failure = failure ?? result }
            return failure
        }
        if let failure { throw failure }
    }

    /// - Returns: The error that prevents an attempt, if any.
    private func sendWhileDue(to server: PublicKey) async -> (any Error)? {
        // Another call's request may be in progress. If it fails, it was the server's only attempt. If it was about an earlier device, this
        // call sends the current device.
        guard await busyServers.wait(for: { $0.insert(server).inserted ? () : nil }) != nil else { return CancellationError() }
        defer { busyServers.update { _ = $0.remove(server) } }
        do {
            while plan.due(at: node.now).contains(server) {
                try Task.checkCancellation()
                _ = try await write(to: server)
            }
            return nil
        } catch {
            return error
        }
    }

    /// What came of a request.
    private struct Attempt {
        /// The event to report, if any.
        let event: RegistrationEvent?
        let receipt: RegistrationReceipt
    }

    /// Sends a request and waits for its reply.
    ///
    /// - Returns: The result, or nil if there is nothing to send.
    /// - Throws: `stateUnusable`, or `CancellationError`: the server did not fail, and a later listener may still receive its reply.
    private func write(to server: PublicKey) async throws -> Attempt? {
        guard plan.needsRequest(to: server, at: node.now) else { return nil }
        if let (request, response) = try await lateResponse(of: server) {
            return try await record(response, to: request, of: server)
        }
        // The request is saved before it leaves: otherwise a crash could make the client use its version again.
        let noted = try await update { [node, identity, ownID = ownInstallationID] plan, random in
            try plan.noteRequest(to: server, of: identity, isOwn: plan.installationID == ownID, through: node, using: &random)
        }
        switch noted {
        case nil: return nil
        case .sealed(let request, let sealed):
            do {
                let response = try await node.exchange.ask(sealed, timeout: timeout) { await self.isDone(with: server) }
                // Another client over the same state has the confirmation.
                guard let response else { return attempt(plan.confirmation(of: server), request) }
                return try await record(response, to: request, of: server)
            } catch let error as PushClientError where error.code != .stateUnusable {
                return try await record(error, request, of: server)
            }
        case .failed(let request, let error): return try await record(error, request, of: server)
        }
    }

    /// Whether another client over the same state has done what this client's request is for.
    private func isDone(with server: PublicKey) async -> Bool {
        // A state that fails now fails the next update too, which reports it.
        try? await reload()
        return !plan.needsRequest(to: server, at: node.now)
    }

    private func record(
        _ response: PushNotificationRegistrationResponse, to request: ServerEntry.Request, of server: PublicKey
    ) async throws -> Attempt {
        let event = try await update { [node, ownID = ownInstallationID] plan, random in
            plan.answered(
                response, requestID: request.requestID, by: server, isOwn: plan.installationID == ownID, now: node.now, using: &random)
        }
        return attempt(event, request)
    }

    private func record(_ error: PushClientError, _ request: ServerEntry.Request, of server: PublicKey) async throws -> Attempt {
        let event = try await update { [node] plan, random in
            plan.failed(error, to: server, generation: request.generation, now: node.now, using: &random)
        }
        return attempt(event, request)
    }

    private func attempt(_ event: RegistrationEvent?, _ request: ServerEntry.Request) -> Attempt {
        report(event)
        if let server = event?.server { errors[server] = event?.error }
        return Attempt(
            event: event,
            receipt: RegistrationReceipt(
                installationID: plan.installationID, version: request.version,
                accessToken: request.generation == nil ? nil : plan.accessToken, requestID: request.requestID))
    }

    /// Returns the reply to the newest request if it came after the wait for it. Otherwise a slow server would never count as registered.
    private func lateResponse(of server: PublicKey) async throws -> (ServerEntry.Request, PushNotificationRegistrationResponse)? {
        guard let pending = plan.pendingRequest(to: server) else { return nil }
        var reader = TopicReader(.asymmetric(identity.privateKey))
        let topic = TopicName.partitioned(identity.privateKey.publicKey).topic
        let start = pending.sentAt.advanced(by: .zero - Exchange.clockTolerance)
        for envelope in try await node.exchange.historyIfAvailable(of: [topic], since: start) ?? [] {
            guard let message = reader.read(envelope, now: node.now),
                let response = SealedRegistration.response(in: message, of: server.publicKey, to: pending.requestID)
            else { continue }
            return (pending, response)
        }
        return nil
    }

    func report(_ event: RegistrationEvent?) {
        guard let event else { return }
        listeners.send(event)
        event.log(to: node.logger)
    }
}
