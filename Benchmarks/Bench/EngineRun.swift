import Delivery
import Engine
import Envelope
import Foundation
import PushProtocol
import SQLiteStore
import StatusCrypto
import Transport

/// One life of an engine on a real database: starts, does a workload, drains.
struct EngineRun {
    struct Result {
        /// From the first hand-over until the last mark was durable.
        var rate: Double
        /// Microseconds a message, for the same.
        var processorTime: Double
        /// The most the log beside the database grew to, in bytes.
        var logByteCount: Int
        var commitCount: Int
    }

    let path: String
    let workerCount: Int
    /// nil: delivery is paused.
    var gorushURL: String?
    /// Whether the run ends only when all pushes are delivered.
    var drainsQueue = true

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
        let store = try SeededStore.open(path)
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
        let commitsBefore = store.commitCount
        try await engine.run()
        let (seconds, processorSeconds) = elapsed()
        let commitCount = store.commitCount - commitsBefore
        while delivery != nil, drainsQueue, try await store.queuedPushCount() > 0 { try await Task.sleep(for: .milliseconds(2)) }
        delivering.cancel()
        let logByteCount = SeededStore.byteCount(path + "-wal")
        _ = try? await delivering.value
        await store.close()
        return Result(
            rate: Double(messageCount) / seconds, processorTime: processorSeconds / Double(messageCount) * 1e6,
            logByteCount: logByteCount, commitCount: commitCount)
    }
}
