import Delivery
import Envelope
import PushProtocol
import SQLiteStore
import Store

/// The delivery to a stub gorush, over a copy of a store.
struct RunningDelivery {
    static let topic = "im.status.ethereum"

    let gorush: GorushProcess
    let store: SQLiteStore
    private let loop: DeliveryLoop
    private let wallClock = WallClock.system

    /// Runs a body besides the delivery, which accepts `topic` as bundle id.
    static func with<Result>(
        _ seed: SeededStore, _ options: Options, gorushArguments: [String] = [], _ body: (RunningDelivery) async throws -> Result
    ) async throws -> Result {
        let running = try await RunningDelivery(seed, options, gorushArguments)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await running.loop.run() }
            while running.loop.idleUntil(at: .zero) == nil { try await Task.sleep(for: .milliseconds(5)) }
            let result = try await body(running)
            group.cancelAll()
            while (try? await group.next()) != nil {}
            await running.store.close()
            return result
        }
    }

    private init(_ seed: SeededStore, _ options: Options, _ gorushArguments: [String]) async throws {
        gorush = try await GorushProcess(directory: options.directory, arguments: gorushArguments)
        store = try SeededStore.open(seed.copy())
        var configuration = DeliveryConfiguration(endpoint: .init(url: gorush.url))
        configuration.knownBundleIDs = [Self.topic]
        loop = DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: wallClock, logger: .silent,
            onUnregistered: { _ in })
    }

    func enqueue(_ pushes: [AcceptedPush]) async throws {
        try await store.apply(at: wallClock.now()) { batch in
            for push in pushes { batch.enqueue(push, message: 1) }
        }
        loop.wake()
    }

    /// Waits until the queue is empty.
    func drain() async throws {
        while try await !store.queuedPushCounts().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    }
}
