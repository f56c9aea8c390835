import Bytes
package import Envelope
import HTTPClient
import JSON
package import Logging
import ServerCrypto
import StatusCrypto
package import Store
import Synchronization
import Tasks
import Workers

/// The push proxy of Nextcloud (and F7cloud): devices register their tokens, servers send what only the devices can read
/// (GATEWAY_PROTOCOLS.md §2).
package final class NextcloudProxy: Gateway {
    package struct Configuration: Sendable {
        package var apps: [AppRule]
        /// The time for which a device that was never seen is reported as failed, not as unknown.
        package var firstMissGrace: Duration
        /// The status of `DELETE /devices` for an unregistered device. Nextcloud's Android app forgets its own state only at 200.
        package var deleteUnknownStatus: Int
        /// The subscription keys that servers may show. An empty list means that no key is required.
        package var subscriptionKeys: [String]
        /// How many requests an address may send to `/devices` per minute. 0 means no limit.
        package var registrationsPerMinute: Int
        /// The highest app password number that is tried to prove that a device identifier belongs to an account.
        package var maximumTokenNumber: Int
        /// The number of processors.
        package var workerCount: Int

        package init(
            apps: [AppRule], firstMissGrace: Duration = .seconds(60), deleteUnknownStatus: Int = 403, subscriptionKeys: [String] = [],
            registrationsPerMinute: Int = 20, maximumTokenNumber: Int = 10_000_000, workerCount: Int = 2
        ) {
            self.apps = apps
            self.firstMissGrace = firstMissGrace
            self.deleteUnknownStatus = deleteUnknownStatus
            self.subscriptionKeys = subscriptionKeys
            self.registrationsPerMinute = registrationsPerMinute
            self.maximumTokenNumber = maximumTokenNumber
            self.workerCount = workerCount
        }

        /// The maximum number of batch parts in progress. For each processor, a part is judged while another waits for the store.
        fileprivate var maximumPartCount: Int { 2 * workerCount }
    }

    /// A request takes 1.2 KB, or 4 KB with a key of 8,192 bits.
    private static let maximumDeviceBodyByteCount = 32 << 10
    /// The searches for an identifier that an address may begin. An app needs a search only after its server has lost the user's key.
    private static let searchesPerHour = 10
    /// How long a client should wait before it asks again when too many searches wait, which is about as long as they take.
    private static let busySearchDelay = Duration.seconds(30)
    /// How many batches an address may send per minute. A server sends a batch whenever it flushes its queue.
    private static let batchesPerMinute = 600
    /// How many entries for unregistered devices an address may send per hour. A server deletes devices that are reported as unknown, so
    /// more entries are spam.
    private static let unknownEntriesPerHour = 1_000
    /// The interval within which an equal entry is the same notification.
    package static let repeatInterval = Duration.seconds(5 * 60)

    private struct Limits {
        var registrations: RateLimiter
        var searches = RateLimiter(searchesPerHour, every: .seconds(3_600))
        var batches = RateLimiter(batchesPerMinute, every: .seconds(60))
        var unknownEntries = RateLimiter(unknownEntriesPerHour, every: .seconds(3_600))
        var misses: UnknownDeviceGrace
    }

    private let configuration: Configuration
    private let store: any ProxyStore
    private let outbox: any ProxyOutbox
    private let proof: any IdentityProof
    let identifierSearch: DeviceIdentifierSearch
    private let wallClock: WallClock
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    private let failures: FailureLog
    private let limits: Mutex<Limits>
    private let slots = Monitor(BatchSlots())
    /// Bounds the batch parts in progress, over all requests. The same threads open messages of 71, which don't have to wait for more parts
    /// than that.
    private let judging: ConcurrencyLimiter

    /// - Parameter clock: The clock for rate limits.
    package init(
        configuration: Configuration, store: any ProxyStore, outbox: any ProxyOutbox, proof: any IdentityProof, clock: some Clock<Duration>,
        wallClock: WallClock, logger: Logger
    ) {
        self.configuration = configuration
        self.store = store
        self.outbox = outbox
        self.proof = proof
        identifierSearch = DeviceIdentifierSearch(maximumTokenNumber: configuration.maximumTokenNumber)
        self.wallClock = wallClock
        elapsed = clock.stopwatch()
        self.logger = logger
        failures = FailureLog(logger, clock: clock)
        judging = ConcurrencyLimiter(limit: configuration.maximumPartCount)
        limits = Mutex(
            Limits(
                registrations: RateLimiter(configuration.registrationsPerMinute, every: .seconds(60)),
                misses: UnknownDeviceGrace(grace: configuration.firstMissGrace)))
    }

    package func answer(_ request: GatewayRequest) async -> GatewayResponse? {
        do {
            switch (request.method, request.path) {
            case ("POST", "/devices"): return try await register(request)
            case ("DELETE", "/devices"): return try await unregister(request)
            case ("POST", "/notifications"): return try await notify(request)
            case (_, "/devices"), (_, "/notifications"): return .text(405, "Method Not Allowed")
            default: return nil
            }
        } catch let error as GatewayRequest.BodyError {
            return GatewayResponse(error)
        } catch is CancellationError {
            // The client has disconnected or the server stops, so the response is not read.
            return .unavailable
        } catch StoreError.storageFull {
            failures.report("rejected new Nextcloud devices because the storage is full")
            return .storageFull
        } catch StoreError.queueFull {
            failures.report("rejected Nextcloud notifications because the push queue is full")
            return .queueFull
        } catch {
            failures.report("requests of the Nextcloud proxy cannot be stored", error)
            return .unavailable
        }
    }

    // MARK: Devices

    private func register(_ request: GatewayRequest) async throws -> GatewayResponse {
        if let refusal = limitRegistrations(of: request.client) { return refusal }
        let body = try await request.body(upTo: Self.maximumDeviceBodyByteCount)
        let now = wallClock.read().stamp
        let registration: ProxyRegistration
        do throws(DeviceRequest.Fault) {
            registration = try ProxyRegistration(request, body: body, apps: configuration.apps, at: now)
        } catch {
            logger.debug("rejecting a registration", metadata: ["fault": "\(error)"])
            return .badRequest
        }
        if try await store(registration, isProven: false, at: now) { return Self.done }
        guard let cloudID = registration.cloudID else { return .text(409, "Conflict") }
        if let refusal = try await refuse(registration, cloudID, request) { return refusal }
        _ = try await store(registration, isProven: true, at: wallClock.read().stamp)
        return Self.done
    }

    /// Returns the response to a registration whose key or identifier is not proven to be the account's, or nil if both are
    /// (GATEWAY_PROTOCOLS.md §2.5).
    private func refuse(_ registration: ProxyRegistration, _ cloudID: String, _ request: GatewayRequest) async throws -> GatewayResponse? {
        let device = registration.device
        guard let account = CloudID(cloudID), await proof.key(of: account) == device.userKey else { return Self.forbidden }
        // Proving your own account's key is not enough: the identifier must belong to that account.
        let now = elapsed()
        if let wait = limits.withLock({ $0.searches.take(for: request.client, at: now) }) { return .tooManyRequests(wait) }
        let outcome = try await request.whileConnected { [identifierSearch] in
            try await identifierSearch.search(device.identifier, of: account)
        }
        return switch outcome {
        case .belongs: nil
        case .doesNotBelong: Self.forbidden
        case .busy: .tooManyRequests(Self.busySearchDelay)
        }
    }

    /// - Returns: Whether the registration was stored.
    private func store(_ registration: ProxyRegistration, isProven: Bool, at now: Timestamp) async throws -> Bool {
        let isStored = try await store.changeDevice(registration.device.identifier, at: now) { known in
            switch registration.decide(known: known, isProven: isProven) {
            case .store(let device): (.put(device), true)
            case .conflict: (.none, false)
            }
        }
        if isStored { limits.withLock { $0.misses.forget(registration.device) } }
        return isStored
    }

    private func unregister(_ request: GatewayRequest) async throws -> GatewayResponse {
        if let refusal = limitRegistrations(of: request.client) { return refusal }
        let body = try await request.body(upTo: Self.maximumDeviceBodyByteCount)
        let device: DeviceRequest
        do throws(DeviceRequest.Fault) {
            device = try DeviceRequest(DeviceRequest.read(request, body: body, names: DeviceRequest.names))
            guard device.signature.count == device.userKey.blockByteCount else { throw .signature }
        } catch {
            logger.debug("rejecting an unregistration", metadata: ["fault": "\(error)"])
            return .badRequest
        }
        enum Outcome: Sendable { case removed, unknown, damaged, forbidden }
        let outcome = try await store.changeDevice(device.identifier, at: wallClock.read().stamp) { known -> (DeviceChange, Outcome) in
            guard let known else { return (.none, .unknown) }
            guard case .readable(let known) = known else { return (.none, .damaged) }
            // The signature is checked under the stored key, which equals the key in the request.
            guard known.userKey == device.userKey, device.isSigned else { return (.none, .forbidden) }
            return (.remove, .removed)
        }
        switch outcome {
        case .removed: return Self.done
        case .unknown: return configuration.deleteUnknownStatus == 200 ? Self.done : Self.forbidden
        case .damaged: return .unavailable
        case .forbidden: return Self.forbidden
        }
    }

    private func limitRegistrations(of client: IPAddress) -> GatewayResponse? {
        let now = elapsed()
        return limits.withLock { $0.registrations.take(for: client, at: now) }.map { .tooManyRequests($0) }
    }

    // iOS apps require a body that is not empty.
    private static let done = GatewayResponse.json(200, "{}")
    private static let forbidden = GatewayResponse.text(403, "Forbidden")

    // MARK: Notifications

    private func notify(_ request: GatewayRequest) async throws -> GatewayResponse {
        let now = elapsed()
        let wait = limits.withLock {
            $0.batches.take(for: request.client, at: now) ?? $0.unknownEntries.take(0, for: request.client, at: now)
        }
        if let wait { return .tooManyRequests(wait) }
        guard isSubscribed(request) else { return .text(401, "Unauthorized") }
        let hasSlot = Mutex(false)
        defer { if hasSlot.withLock(\.self) { slots.update { $0.release(request.client) } } }
        let limit = GatewayRequest.BodyLimit(
            maximumByteCount: BatchBody.maximumByteCount, shortByteCount: BatchSlots.maximumUnslottedByteCount
        ) { [slots] in
            guard await slots.wait(for: { $0.take(for: request.client) ? () : nil }) != nil else { throw CancellationError() }
            hasSlot.withLock { $0 = true }
        }
        let body = try await request.body(within: limit)
        do {
            return try await take(BatchBody.read(body), from: request.client)
        } catch let failure as BatchBody.Failure {
            logger.debug("rejecting a batch of notifications", metadata: ["fault": "\(failure)"])
            return failure == .tooManyEntries ? .tooLarge : .badRequest
        }
    }

    private func take(_ texts: [String], from client: IPAddress) async throws -> GatewayResponse {
        let now = wallClock.read().stamp
        let result = try await judgeAndWrite(texts, at: now)
        let elapsed = elapsed()
        limits.withLock { $0.unknownEntries.charge(result.unknownCount, to: client, at: elapsed) }
        return .json(200, #"{"unknown":\#(JSONText.array(result.unknown)),"failed":\#(result.failedCount)}"#)
    }

    /// Judges and writes a batch. If a write fails, the response is 503, and entries that were already written are deduplicated when the
    /// batch is sent again.
    private func judgeAndWrite(_ texts: [String], at now: Timestamp) async throws -> BatchResult {
        var progress = BatchProgress(entryCount: texts.count, maximumPartCount: configuration.maximumPartCount)
        var result = BatchResult()
        return try await withThrowingTaskGroup(of: BatchProgress.Event.self) { group in
            func execute(_ actions: [BatchProgress.Action]) {
                for action in actions {
                    switch action {
                    case .judge(let part):
                        group.addTask(executorPreference: WorkerPool.computing) {
                            .judged(part, try await self.judge(texts[part], at: now))
                        }
                    case .count(let judgements):
                        let elapsed = elapsed()
                        limits.withLock { limits in result.add(judgements) { limits.misses.miss($0, at: elapsed) } }
                    case .write(let accepted):
                        group.addTask {
                            try await self.outbox.accept(
                                accepted, repeatsSince: now.advanced(by: .zero - Self.repeatInterval), at: now)
                            return .written
                        }
                    }
                }
            }
            execute(progress.begin())
            while let event = try await group.next() { execute(progress.handle(event)) }
            return result
        }
    }

    private func judge(_ texts: ArraySlice<String>, at now: Timestamp) async throws -> [Batch.EntryResult] {
        try await judging.acquire()
        defer { judging.release() }
        let batch = Batch(texts)
        let (known, removed) = try await store.devices(batch.identifiers, removedSince: now.advanced(by: .zero - ProxyDevice.removalMemory))
        return batch.judge(known: known, removed: removed)
    }

    private func isSubscribed(_ request: GatewayRequest) -> Bool {
        guard !configuration.subscriptionKeys.isEmpty else { return true }
        let shown = request.headers["X-Nextcloud-Subscription-Key"] ?? ""
        // Every key is compared, so that the time reveals nothing.
        return configuration.subscriptionKeys.count { ConstantTime.equal(Array($0.utf8), Array(shown.utf8)) } > 0
    }
}
