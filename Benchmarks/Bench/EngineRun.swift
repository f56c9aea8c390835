import Delivery
import Engine
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import Transport

/// A run of an engine on a real database, from its start to its drain, with a workload.
struct EngineRun {
    struct Result {
        /// The messages a second, from the first hand-over until the last publication mark is durable.
        var rate: Double
        /// The microseconds a message in that interval.
        var processorTime: Double
        /// The microseconds of the database's own processes a message in that interval, or 0 for SQLite.
        var databaseProcessorTime: Double
        /// The maximum size of the WAL next to the database, in bytes.
        var logByteCount: Int
        /// The number of times that a commit waited for the disk.
        var commitCount: Int
    }

    let database: RunDatabase
    let workerCount: Int
    /// The URL of gorush. nil pauses delivery.
    var gorushURL: String?
    /// Whether the run ends only when all pushes are delivered.
    var drainsQueue = true

    init(_ database: RunDatabase, workerCount: Int) {
        self.database = database
        self.workerCount = workerCount
    }

    /// - Parameter path: The path of an SQLite database.
    init(path: String, workerCount: Int, gorushURL: String? = nil) {
        self.init(.sqlite(path: path), workerCount: workerCount)
        self.gorushURL = gorushURL
    }

    /// Runs a workload.
    ///
    /// - Throws: `WrongReply` if a reply is wrong.
    func measure(_ workload: Workload) async throws -> Result {
        let transport = StandInTransport(workload)
        let result = try await run(transport, messageCount: workload.envelopes.count) {
            (transport.elapsedSeconds, transport.elapsedProcessorSeconds)
        }
        try transport.check()
        return result
    }

    /// Measures several servers that share the database. Each has a node of its own, and so gets all messages.
    func measure(_ workload: Workload, serverCount: Int) async throws -> Result {
        let replies = ReplyBox(to: workload)
        let transports = (0..<serverCount).map { _ in StandInTransport(workload, replies: replies) }
        let commitsBefore = try await database.syncCount()
        let stores = try (1...serverCount).map { try database.open(server: "bench-\($0)") }
        // From here on each server knows the others, and owns a fraction of the messages.
        for store in stores { _ = try await store.cluster?.takePart() }
        let databaseSecondsBefore = database.processorSeconds
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (store, transport) in zip(stores, transports) {
                let directory = try await TopicDirectory(serverKey: BenchmarkOwners.server.publicKey, store: store)
                let engine = engine(on: store, directory, transport)
                group.addTask { try await engine.run() }
            }
            try await group.waitForAll()
        }
        let (seconds, processorSeconds) = (transports[0].elapsedSeconds, transports[0].elapsedProcessorSeconds)
        let databaseSeconds = database.processorSeconds - databaseSecondsBefore
        for store in stores { await store.close() }
        try transports[0].check()
        let count = Double(workload.envelopes.count)
        return Result(
            rate: count / seconds, processorTime: processorSeconds / count * 1e6, databaseProcessorTime: databaseSeconds / count * 1e6,
            logByteCount: database.logByteCount, commitCount: try await database.syncCount(stores[0]) - commitsBefore)
    }

    /// Runs an engine until the transport's `run` returns.
    func run(
        _ transport: some MessageTransport, messageCount: Int, elapsed: () -> (seconds: Double, processorSeconds: Double)
    ) async throws -> Result {
        let commitsBefore = try await database.syncCount()
        let store = try database.open()
        let wallClock = WallClock.system
        let directory = try await TopicDirectory(serverKey: BenchmarkOwners.server.publicKey, store: store)
        let delivery = gorushURL.map { url in
            var configuration = DeliveryConfiguration(endpoint: .init(url: url))
            // The store counts it as named, too. Otherwise the first pushes would wait for the budget of unproven bundle ids.
            configuration.knownBundleIDs = [RunningDelivery.topic]
            return DeliveryLoop(
                store: store, configuration: configuration, clock: ContinuousClock(), wallClock: wallClock, logger: .silent,
                onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
        }
        let engine = engine(on: store, directory, transport) { delivery?.wake() }
        let delivering = Task { try await delivery?.run() }
        let databaseSecondsBefore = database.processorSeconds
        try await engine.run()
        let (seconds, processorSeconds) = elapsed()
        let databaseSeconds = database.processorSeconds - databaseSecondsBefore
        while delivery != nil, drainsQueue, try await !store.queuedPushCounts().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        delivering.cancel()
        let logByteCount = database.logByteCount
        _ = try? await delivering.value
        await store.close()
        return Result(
            rate: Double(messageCount) / seconds, processorTime: processorSeconds / Double(messageCount) * 1e6,
            databaseProcessorTime: databaseSeconds / Double(messageCount) * 1e6, logByteCount: logByteCount,
            commitCount: try await database.syncCount(store) - commitsBefore)
    }

    private func engine(
        on store: any PushStore, _ directory: TopicDirectory, _ transport: some MessageTransport,
        onAcceptedPushes: @escaping @Sendable () -> Void = {}
    ) -> Engine {
        Engine(
            configuration: .init(
                identity: BenchmarkOwners.server, registrationPolicy: RegistrationPolicy(), isDryRun: false, workerCount: workerCount,
                echoesReplies: false, drainLimit: .seconds(600)),
            store: store, directory: directory, transport: transport, clock: ContinuousClock(), wallClock: .system,
            logger: .silent, onAcceptedPushes: onAcceptedPushes)
    }
}
