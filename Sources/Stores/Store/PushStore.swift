package import Bytes
package import Envelope
package import PushProtocol
package import StatusCrypto
import Wire

/// The server's database. Callers exchange values with it and do not know its tables. It doesn't contain protocol rules.
///
/// A write survives a power cut once its function has returned. A cancelled task does not interrupt a write. Functions throw
/// ``StoreError``. Those that read may also throw `CancellationError`. A store belongs to a single identity key.
///
/// This file is the whole interface. What a store must do is tested by `Tests/StoreTests/Contract`, once for both databases.
package protocol PushStore: EngineStore, PushOutbox, GatewayOutbox, OperatorViews, SealedStore {
    /// The number of rows that the store has set aside since it was opened (``DamagedRowKind``).
    var damagedRowCount: Int { get }

    /// Checks that the store still writes to the file that it has opened. A database server does that itself.
    ///
    /// - Throws: ``StoreError/fileLost(path:)``.
    func checkFile() throws(StoreError)

    /// Completes the writes that wait. Later writes fail with ``StoreError/closed``.
    func close() async
}

// MARK: Messages, registrations and decisions

/// The store as the engine uses it.
package protocol EngineStore: MessageJournal, DecisionStore, TopicStore {
    /// Deletes decided messages and finished pushes whose lifetime (`ProtocolLimits`) has passed, and counts them in the ledger. Keeps open
    /// pushes, undecided messages and tombstones.
    ///
    /// The number of rows per call is limited, so that other writers do not wait long.
    func prune(at now: Timestamp) async throws -> Pruned

    /// Sets back what a clock that was ahead has left in the future: times of past events to the present, and deadlines to their greatest
    /// length. Otherwise such rows would neither age nor let others pass for as long as the clock was ahead.
    ///
    /// - Returns: The number of rows.
    func setBackFutureTimes(at now: Timestamp) async throws -> Int

    /// Unregisters installations without registration and without delivery for a lifetime, and keeps copies as it does of dead
    /// registrations. Removes the Nextcloud push proxy's devices without registration and without notification for as long.
    ///
    /// The lifetime is counted in the days of these calls (``DeliveringDays``): call it only while the server can deliver. A day has a
    /// budget for devices, and for installations that were ever delivered to. The number of rows per call is limited, so that other
    /// writers do not wait long.
    ///
    /// - Parameter row: ``UnusedRegistrations/lastRow`` from the previous call. 0 to begin.
    func unregisterUnused(for lifetime: Duration, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations

    /// Writes a value without meaning, to test whether the store accepts writes.
    func probe() async throws

    /// This server's membership if several servers share the database, or nil if they don't.
    var cluster: (any ClusterStore)? { get }
}

/// The messages from their arrival to their reply's publication, and the history checkpoints.
package protocol MessageJournal: Sendable {
    /// Records messages before anything acts on them.
    ///
    /// - Returns: Each message's row, or nil if it is not this server's to decide: the hash is already recorded or is earlier in the list,
    ///   or another server owns the message (``ClusterStore``).
    func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?]

    /// Lets undecided messages age from their senders' times instead of their arrival.
    func ageFromSending(_ rows: [Int64]) async throws

    /// Returns the rows of undecided messages, and of those whose reply was not marked as published. Call this once, before the first
    /// ``record(_:at:)``.
    func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64])

    /// Returns those of these messages that are undecided and that this server owns, oldest first.
    func undecided(_ rows: [Int64]) async throws -> [RecordedEnvelope]

    /// Returns the replies to these messages that were not marked as published, oldest first.
    func unreplied(_ rows: [Int64]) async throws -> [(id: Int64, receivedAt: Timestamp, reply: Reply)]

    /// Returns a topic's history checkpoints by name, before which all messages are recorded.
    func checkpoints(of pubsubTopic: String) async throws -> [String: Timestamp]

    /// Saves a history checkpoint, and what became of the topic's holes. The checkpoint may be earlier than the previous one, because
    /// clocks can be set back.
    func save(_ progress: HistoryProgress) async throws

    /// Returns a pubsub topic's holes, in order.
    func holes(of pubsubTopic: String) async throws -> OpenHoles
}

/// The store as the decider uses it: it loads the state and writes decisions.
package protocol DecisionStore: Sendable {
    /// Loads the state, passes it to `decide` for each piece of work in order, and writes the decisions, all in a single transaction.
    ///
    /// If the transaction fails, the store finds the pieces that fail alone, so that the rest can succeed (``Halving``).
    ///
    /// - Parameters:
    ///   - lookups: Returns the lookups that deciding these pieces needs.
    ///   - decide: Decides a piece from ``DecidedBatch/state`` and adds the decision to the batch. It must not do anything else, because
    ///     the store may call it again.
    func commit<Work: Sendable, Outcome: Sendable>(
        _ work: [Work], at now: Timestamp, loading lookups: @escaping @Sendable ([Work]) -> Lookups,
        deciding decide: @escaping @Sendable (Work, inout DecidedBatch) -> Outcome
    ) async -> Committed<Outcome>
}

extension DecisionStore {
    /// Writes a single decision.
    ///
    /// - Parameter lookups: The lookups that `decide` needs.
    /// - Returns: The installations that registered and unregistered, in order.
    /// - Throws: `StoreError` if the transaction failed.
    @discardableResult
    package func apply(
        at now: Timestamp, loading lookups: Lookups = Lookups(), _ decide: @escaping @Sendable (inout DecidedBatch) -> Void
    ) async throws -> [TopicChange] {
        let committed = await commit([()], at: now, loading: { _ in lookups }, deciding: { decide(&$1) })
        for outcome in committed.outcomes { try outcome.get() }
        return committed.topicChanges
    }
}

/// The query topics of registrations, and their keys.
package protocol TopicStore: Sendable {
    /// Folds over all live registrations' topics. For two million this takes less than a second.
    ///
    /// - Parameter update: Receives a registration's row and topics.
    func reduceLiveTopics<Result: Sendable>(
        into initial: Result, _ update: @Sendable (inout Result, _ registration: Int64, _ topics: QueryTopics) -> Void
    ) async throws -> Result

    /// Returns the topics of these registrations that are live.
    func liveTopics(of registrations: [Int64]) async throws -> [ChangedRegistration]

    /// Counts the registered installations.
    func registrationCount() async throws -> Int

    /// Returns the owners of query topics and the derived keys that are stored, in a single read for many topics.
    ///
    /// - Returns: The owner and each topic's key, or nil if the row does not exist. Tombstones have an owner too. A key is nil until it is
    ///   stored.
    func topicKeys(_ topics: [(registration: Int64, prefixed: Bool)]) async throws -> [(keyHash: Digest64, key: FixedBytes<32>?)?]

    /// Stores a query topic's derived key, because deriving it takes 18 ms of PBKDF2.
    func saveTopicKey(_ key: FixedBytes<32>, keyHash: Digest64, prefixed: Bool) async throws
}

// MARK: Pushes

/// The pushes from their acceptance to their outcome, in a queue for each route. Each push finishes exactly once.
package protocol PushOutbox: Sendable {
    /// Sets who is told, after each commit, for which devices of a route pushes were queued. Call this before the first read.
    func tell(_ listener: @escaping @Sendable (_ route: String, _ arrivals: Arrivals) -> Void)

    /// Recovers the previous process's outbox. Call this once, before the first read.
    ///
    /// Pushes that a server of 0.3 has leased are uncertain, and due at once. So is a push with a time after `latest`, because a wrong
    /// clock set that time. If `routes` differ from the previous process's, open pushes move to the queues of their new routes.
    ///
    /// - Returns: The number of leased pushes.
    func takeOverOutbox(routes: Set<RouteAssignment>, latest: Timestamp) async throws -> Int

    /// Returns the devices of a route with open pushes of a trust, in the order of their codes. A device's pushes cost no more than one.
    ///
    /// - Parameter last: The last device of the previous page, or nil for the first page.
    func waitingDevices(route: String, trust: PushTrust, after last: DeviceCode?, limit: Int) async throws -> [DeviceCode]

    /// Returns the open calls of a route, in the order of acceptance.
    func waitingCalls(route: String, limit: Int) async throws -> [Arrivals.Call]

    /// Returns devices of a route with pushes whose attempts got no answer.
    func uncertainDevices(route: String, limit: Int) async throws -> [DeviceCode]

    /// Returns the pushes to attempt now, in the order of the choices. Each push has the token that its installation, or the device of its
    /// gateway, has registered now. If that is another device's, the store moves the push to it instead.
    ///
    /// - Parameter oldest: Pushes that were accepted before are passed over.
    func pushes(_ choices: [PushChoice], route: String, acceptedSince oldest: Timestamp, at now: Timestamp) async throws -> [FoundPush]

    /// Marks open pushes as being attempted (``OpenPushState/unknown``), and as due at that time if nothing is heard of them.
    ///
    /// - Returns: Those that are open, with the contents that are stored now. No others are merged into them any more.
    func mark(_ pushes: [Int64], until time: Timestamp) async throws -> [Int64: QueuedPush]

    /// Shortens the waits of a route's pushes whose attempts got no answer (DELIVERY_RULES.md), those first that have waited longest.
    ///
    /// - Returns: How many there were, `limit` at most. The route is told of their devices.
    func bringForward(route: String, limit: Int, at now: Timestamp) async throws -> Int

    /// Finishes a route's pushes that were accepted before a time, the oldest first.
    ///
    /// - Returns: The number of pushes that expired.
    func expirePushes(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int

    /// Finishes a route's calls that were accepted before a time and not attempted.
    ///
    /// - Returns: The number of calls that expired.
    func expireCalls(route: String, acceptedBefore oldest: Timestamp, limit: Int, at now: Timestamp) async throws -> Int

    /// Writes changes to pushes and device tokens in a single transaction.
    func update(_ update: OutboxUpdate, at now: Timestamp) async throws -> UpdatedOutbox

    /// Returns the suspicions against device tokens, and when the route's oldest suspicion started. A cancelled task gets the result too,
    /// because its caller still has to write an outcome.
    ///
    /// - Parameter tokens: The digests of tokens and bundle ids (``QueuedPush/targetDigest``).
    func suspicions(against tokens: [Digest32], in route: String) async throws -> Suspicions

    /// Returns the devices to which a route has delivered since a time, according to the newest finished pushes.
    ///
    /// - Parameter limit: The maximum number of devices.
    func recentDevices(route: String, since time: Timestamp, limit: Int) async throws -> [RecentDevice]

    /// Returns the bundle ids for which a push was ever delivered, by route. The empty string stands for Android.
    func deliveredBundleIDs() async throws -> [String: Set<String>]

    /// The number of pushes that were refused because their route's queue was full, by route, since the store was opened.
    var refusedPushCounts: [String: Int] { get }

    /// Whether three quarters of a route's slots for known bundle ids are taken, as far as this server has counted.
    func isQueueNearlyFull(of route: String, at now: Timestamp) async throws -> Bool

    /// Returns the holds of routes, also those whose time is over.
    func routeHolds() async throws -> [RouteHold]

    /// Ends a hold, unless another one has replaced it.
    func end(_ hold: RouteHold) async throws

    /// Counts the open pushes by route.
    func queuedPushCounts() async throws -> [String: Int]
}

/// The outbox as the gateways use it.
package protocol GatewayOutbox: Sendable {
    /// Queues notifications, all or none. They are due immediately.
    ///
    /// - Parameters:
    ///   - repeatsSince: A notification is merged if a push with its digest entered the outbox at this time or later. Nil turns merging
    ///     off.
    ///   - isDiscarded: Whether the pushes finish immediately as discarded. Their secrets are not written.
    /// - Returns: Each notification's push. Nil where it was merged.
    func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?]

    /// Finishes pushes as ``PushOutcome/withdrawn``. Finished pushes keep their outcome.
    func withdraw(_ pushes: [Int64], at now: Timestamp) async throws
}

// MARK: Nextcloud

/// The Nextcloud push proxy's devices. A function that writes returns when its changes are durable.
package protocol ProxyStore: Sendable {
    /// Reads a device, passes it to `decide` and writes the change that `decide` returns, in a single transaction.
    ///
    /// - Parameter decide: Decides the change. The store may call it more than once.
    /// - Throws: `StoreError.storageFull` if the storage is full and the device is not registered yet.
    func changeDevice<Result: Sendable>(
        _ identifier: DeviceIdentifier, at now: Timestamp, _ decide: @escaping @Sendable (StoredDevice?) -> (DeviceChange, Result)
    ) async throws -> Result

    /// Returns the registered devices, and the identifiers whose devices were removed at `removedSince` or later.
    func devices(
        _ identifiers: Set<DeviceIdentifier>, removedSince: Timestamp
    ) async throws -> (known: [DeviceIdentifier: StoredDevice], removed: Set<DeviceIdentifier>)
}

/// The Nextcloud origin's users, devices and waiting pushes. A function that writes returns when its changes are durable.
package protocol OriginStore: Sendable {
    // MARK: Users and devices

    /// Returns a user's sealed key, or nil if none is stored.
    func originUserKey(of user: String) async throws -> [UInt8]?

    /// Stores a user's key unless the user already has a key.
    ///
    /// - Returns: The stored key: `sealed`, or the earlier key.
    func addOriginUserKey(_ sealed: [UInt8], of user: String) async throws -> [UInt8]

    func originDevices(of user: String) async throws -> [OriginDevice]

    /// Reads a user's devices, passes them to `decide` and writes the change that `decide` returns, in a single transaction. Waiting pushes
    /// follow their device to another proxy. The store deletes them together with their device.
    ///
    /// - Parameter decide: Decides the change. The store may call it more than once.
    func changeOriginDevices<Result: Sendable>(
        of user: String, _ decide: @escaping @Sendable ([OriginDevice]) -> (OriginChange, Result)
    ) async throws -> Result

    // MARK: The queue

    /// Queues pushes to a user's devices, all or none. Skips pushes to removed devices.
    ///
    /// - Throws: `StoreError.queueFull` if ``OriginPush/maximumWaitingCount`` pushes wait.
    func acceptOriginPushes(_ pushes: [OriginPush], of user: String) async throws

    /// Returns the proxies and users for which pushes wait, each pair once.
    func waitingProxies() async throws -> [WaitingProxy]

    /// Returns pushes that wait for a proxy: calls first, then the oldest.
    func waitingOriginPushes(to proxy: String, limit: Int) async throws -> [WaitingOriginPush]

    /// Deletes pushes, and the devices that their proxy does not know, unless the devices have registered another token since.
    ///
    /// - Parameter unknown: The identifiers of devices that the proxy does not know.
    func finishOriginPushes(_ finished: [WaitingOriginPush], unknown: Set<String>) async throws
}

// MARK: Operators

/// The store as an operator's tools see it, without secrets.
package protocol OperatorViews: Sendable {
    /// Returns how far the push with this deduplication key has got, or nil if it was never accepted or is pruned.
    func progress(ofPush deduplicationKey: Digest32) async throws -> PushProgress?

    /// Returns the pushes to an installation, oldest first. Steps through all pushes, so it is for tools only.
    func tracePushes(to target: Installation) async throws -> [TracedPush]

    /// Returns the push requests with an id, oldest first. Steps through all messages, so it is for tools only.
    ///
    /// - Parameter id: The message id in the request, the request's Status message id, or its Waku message's hash.
    func traceRequests(_ id: [UInt8]) async throws -> [TracedRequest]

    /// Reads what waits, and what became of the pushes that were accepted since a time and are not pruned. Steps through all pushes, so it
    /// is for tools only.
    ///
    /// - Parameter limit: The number of the oldest pushes to return.
    func waitingPushes(oldest limit: Int, acceptedSince start: Timestamp) async throws -> WaitingPushes

    /// Reads the facts for an ``Audit``. Steps through all messages and pushes, so it is for tools only.
    ///
    /// - Parameter report: Receives how many rows are read so far, and how many there are in all.
    func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts

    /// Reads the figures for metrics. Steps through open pushes, unfinished messages and live registrations, not through finished rows.
    func figures() async throws -> StoreFigures

    /// Counts the registrations. Steps through all of them, so it is for tools only.
    ///
    /// - Parameter start: The time since which counted installations have registered, renewed or unregistered. Nil counts all.
    func registrationCounts(since start: Timestamp?) async throws -> RegistrationCounts

    /// Returns a key's registrations and tombstones, by installation id.
    func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary]

    /// Returns the registrations that were removed for dead device tokens and can be restored, newest first.
    func deadRegistrations(limit: Int) async throws -> [DeadRegistration]

    /// Restores registrations that were removed for dead tokens, unless their owners have registered or unregistered since.
    ///
    /// - Parameter ids: The registrations. Nil means all.
    /// - Returns: The restored registrations.
    func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration]

    /// Deletes what is stored about an owner's key. Its registrations become tombstones, its open pushes are withdrawn, and its name is
    /// erased from earlier pushes and replies.
    ///
    /// For a tool while no server runs, because a server would continue with the data in its memory.
    func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten

    /// Holds routes, in place of earlier holds of them. Servers may be running.
    func hold(_ holds: [RouteHold]) async throws

    /// Ends the holds of routes. Servers may be running.
    ///
    /// - Returns: The holds that there were.
    func resume(_ routes: Set<String>) async throws -> [RouteHold]
}

extension OperatorViews {
    /// Counts all registrations.
    package func registrationCounts() async throws -> RegistrationCounts { try await registrationCounts(since: nil) }

    /// Reads the facts for an ``Audit``.
    package func auditFacts() async throws -> AuditFacts { try await auditFacts { _, _ in } }
}

/// A store that seals its secrets. After the key was rotated, the store re-seals its older rows step by step.
package protocol SealedStore: Sendable {
    /// Re-seals the next rows in a bounded transaction, or does the next clean-up step after the last row.
    ///
    /// The progress survives a crash: the next start continues.
    func resealNext() async throws -> SealingProgress

    func sealingProgress() async throws -> SealingProgress
}

/// The store of a server that takes over another server's clients.
package protocol ImportStore: MessageJournal, DecisionStore, Sendable {
    /// Stores installations in their order, in a single transaction.
    ///
    /// Registrations count as proven: a server has pushed to their device tokens before. A tombstone counts as a registration's.
    func importInstallations(_ installations: [ImportedInstallation], at now: Timestamp) async throws
}

/// A store whose rows can be copied into a store of another kind, or that receives such rows.
package protocol CopyableStore: OperatorViews {
    /// Reads the values that exist only once in a database.
    ///
    /// - Throws: `StoreError.sealingKeyMissing` if the database is sealed and was opened without its keys.
    func copiedDatabase() async throws -> CopiedDatabase

    func rowCount(of table: CopiedTable) async throws -> Int

    /// Reads rows, ordered by their position.
    ///
    /// - Parameter position: Where the previous page ended, or nil for the first page.
    func rows(of table: CopiedTable, after position: [CopiedValue]?, limit: Int) async throws -> CopiedRows

    /// Adds rows to a database that is not complete yet.
    func insert(_ rows: [[CopiedValue]], into table: CopiedTable) async throws

    /// Makes the database ready for a server, after all rows were added.
    func complete(_ database: CopiedDatabase) async throws

    /// Marks the database as moved, so that no server starts on it. The caller has made sure that none uses it.
    ///
    /// - Parameter place: The path or URL of the database that has the rows now.
    func markMoved(to place: String) async throws
}

// MARK: Several servers

/// A database that several servers with the same identity share.
///
/// Each server is a member with a number and a lease, and owns messages and pushes: it alone decides, answers and delivers them. A member
/// renews its lease by the database's clock. Once the lease has ended, the other members fence it and take over what it owns. A fenced
/// member that wakes up can't change these rows, because each write names the owner. It joins again under a new number.
package protocol ClusterStore: Sendable {
    /// Renews this server's lease, or joins again if it was fenced. Also fences members whose leases have ended, and takes over their work
    /// and any message that its owner has not taken in time.
    ///
    /// Call it every ``ClusterLimits/interval``.
    ///
    /// - Parameter isReceiving: Whether this server's node works. Without it, the server can neither receive messages nor publish replies.
    ///   It hands its messages over, if another member can take them.
    /// - Throws: `StoreError` if the database is unreachable.
    func takePart(isReceiving: Bool) async throws -> TakenWork

    /// This server's number among the members. It changes when the server joins again after it was fenced.
    var number: Int64 { get }

    /// Whether this server's lease under a number lasts for another duration, by its own clock. Without it, the pushes that this server
    /// read under the number may belong to another server.
    func holdsLease(as number: Int64, for duration: Duration) -> Bool

    /// What the database's clock shows, as far as it was read within ``ClusterLimits/renewalDelay``, or nil.
    var databaseTime: Timestamp? { get }

    /// The number of living members, this server included.
    var memberCount: Int { get }

    /// Returns the live registrations with query topics among these, which may have been added by another member.
    func registrations(on topics: [UInt32]) async throws -> [ChangedRegistration]

    /// Whether this server assembles the message with that hash from its segments.
    func assembles(_ hash: Digest32) -> Bool

    /// Passes segments to the member that assembles their message, if it is not this server.
    ///
    /// - Parameters:
    ///   - rows: The segments' messages.
    ///   - hash: The whole message's hash, which the segments name.
    func pass(_ rows: [Int64], ofMessage hash: Digest32) async throws

    /// Whether the reply to a message is no longer to be published: another member has superseded it, or has taken it over and published
    /// it.
    func isReplyFinished(_ message: Int64) async throws -> Bool

    /// Asks all members not to record further messages for this server, because it is about to stop.
    func stopReceiving() async throws

    /// Returns whether PostgreSQL logs the values of statements, which identify clients.
    func logsValues() async throws -> Bool

    /// Returns all members with their work.
    func members() async throws -> [ClusterMember]

    /// Returns the times that the database has lost by going back, as servers of this name have noticed, oldest first.
    func lostTimes() async throws -> [LostTime]

    /// Ends the open pushes of all servers that were accepted before a time, after the database went back by more than an hour: most were
    /// delivered, and the others are too old.
    ///
    /// - Returns: The number of pushes.
    func endRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int
}

extension ClusterStore {
    /// Takes part as a server whose node works.
    package func takePart() async throws -> TakenWork { try await takePart(isReceiving: true) }

    /// Whether the lease was renewed within ``ClusterLimits/renewalDelay``. Without that, the server is not ready.
    package var hasRecentLease: Bool { holdsLease(as: number, for: ClusterLimits.lease - ClusterLimits.renewalDelay) }
}
