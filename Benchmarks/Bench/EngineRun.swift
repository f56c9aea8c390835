import Delivery
import Engine
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import Transport

/// One life of an engine on a real database: starts, does a workload, drains.
struct EngineRun {
    struct Result {
        /// From the first hand-over until the last mark was durable.
        var rate: Double
        /// Microseconds a message, for the same.
        var processorTime: Double
        /// Microseconds a message of the database's own processes, for the same; 0 for SQLite.
        var databaseProcessorTime: Double
        /// The most the log beside the database grew to, in bytes.
        var logByteCount: Int
        /// Times that a commit waited for the disk.
        var commitCount: Int
    }

    let database: RunDatabase
    let workerCount: Int
    /// nil: delivery is paused.
    var gorushURL: String?
    /// Whether the run ends only when all pushes are delivered.
    var drainsQueue = true

    init(_ database: RunDatabase, workerCount: Int) {
        self.database = database
        self.workerCount = workerCount
    }

    /// - Parameter path: That of an SQLite database.
    init(path: String, workerCount: Int, gorushURL: String? = nil) {
        self.init(.sqlite(path: path), workerCount: workerCount)
        self.gorushURL = gorushURL
    }

    /// - Throws: `WrongReply` when a reply is not what it should be.
    func measure(_ workload: Workload) async throws -> Result {
        let transport = StandInTransport(workload)
        let result = try await run(transport, messageCount: workload.envelopes.count) {
            (transport.elapsedSeconds, transport.elapsedProcessorSeconds)
        }
        try transport.check()
        return result
    }

    /// Runs an engine until the transport's `run` returns.
    func run(
        _ transport: some MessageTransport, messageCount: Int, elapsed: () -> (seconds: Double, processorSeconds: Double)
    ) async throws -> Result {
        let commitsBefore = try await database.syncCount()
        let store = try database.open()
        let wallClock = WallClock.system
        let directory = try await TopicDirectory(serverKey: BenchmarkOwners.server.publicKey, store: store)
        let delivery = gorushURL.map {
            DeliveryLoop(
                store: store, configuration: DeliveryConfiguration(endpoint: .init(url: $0)), clock: ContinuousClock(),
                wallClock: wallClock, logger: .silent, onUnregistered: { await directory.remove($0, unlessLiveIn: store) })
        }
        let engine = Engine(
            configuration: .init(
                identity: BenchmarkOwners.server, registrationPolicy: RegistrationPolicy(), isDryRun: false, workerCount: workerCount,
                echoesReplies: false, drainLimit: .seconds(600)),
            store: store, directory: directory, transport: transport, clock: ContinuousClock(), wallClock: wallClock,
            logger: .silent, onAcceptedPushes: { delivery?.wake() })
        let delivering = Task { try await delivery?.run() }
        let databaseSecondsBefore = database.processorSeconds
        try await engine.run()
        let (seconds, processorSeconds) = elapsed()
        let databaseSeconds = database.processorSeconds - databaseSecondsBefore
        while delivery != nil, drainsQueue, try await store.queuedPushCount() > 0 { try await Task.sleep(for: .milliseconds(2)) }
        delivering.cancel()
        let logByteCount = database.logByteCount
        _ = try? await delivering.value
        await store.close()
        return Result(
            rate: Double(messageCount) / seconds, processorTime: processorSeconds / Double(messageCount) * 1e6,
            databaseProcessorTime: databaseSeconds / Double(messageCount) * 1e6, logByteCount: logByteCount,
            commitCount: try await database.syncCount(store) - commitsBefore)
    }
}
