import Bytes
import Delivery
import Envelope
import Foundation
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import Wire

/// Pushes to proven devices while the queue is full of pushes to invented targets (docs/LIMITS.md).
enum MadeUpTargets {
    private static let topic = "im.status.ethereum"
    private static let honestCount = 100
    private static let honestInterval = Duration.milliseconds(20)
    static let targetCount = 3_000
    /// The number of the attack's pushes, which keeps gorush busy for some seconds.
    static let attackCount = 30_000

    /// - Returns: The milliseconds from the commit of each honest push until gorush has received it.
    static func delays(besides attackCount: Int, _ seed: SeededStore, _ options: Options) async throws -> Sample {
        let gorush = try await GorushProcess(directory: options.directory)
        let store = try SeededStore.open(seed.copy())
        var configuration = DeliveryConfiguration(endpoint: .init(url: gorush.url))
        configuration.knownBundleIDs = [topic]
        let wallClock = WallClock.system
        let loop = DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: wallClock, logger: .silent,
            onUnregistered: { _ in })
        let delivering = Task { try await loop.run() }
        while loop.idleUntil(at: .zero) == nil { try await Task.sleep(for: .milliseconds(5)) }
        func enqueue(_ pushes: [AcceptedPush]) async throws {
            try await store.apply(at: wallClock.now()) { batch in
                for push in pushes { batch.enqueue(push, message: 1) }
            }
            loop.wake()
        }

        // Prove each honest device before the attack.
        try await enqueue((0..<honestCount).map { honest($0, "first") })
        while try await store.oldestQueuedPush() != nil { try await Task.sleep(for: .milliseconds(5)) }
        let earlierCount = gorush.notificationCount
        for start in stride(from: 0, to: attackCount, by: 1_000) {
            try await enqueue((start..<min(attackCount, start + 1_000)).map(madeUp))
        }
        var committed: [String: ContinuousClock.Instant] = [:]
        for number in 0..<honestCount {
            let push = honest(number, "second")
            try await enqueue([push])
            committed[push.deviceToken.text] = .now
            try await Task.sleep(for: honestInterval)
        }
        let arrivals = await gorush.arrivals(attackCount + honestCount, afterNotifications: earlierCount)
        delivering.cancel()
        _ = try? await delivering.value
        await store.close()
        return Sample(arrivals.compactMap { arrival in committed[arrival.token].map { max(0, (arrival.time - $0).seconds * 1_000) } })
    }

    private static func honest(_ number: Int, _ round: String) -> AcceptedPush {
        let owner = Owner(number: number)
        return AcceptedPush(
            target: Installation(keyHash: owner.keyHash, installationID: owner.installationID),
            deduplicationKey: BenchmarkOwners.digest("honest push, \(round)", number), tokenType: .apn, deviceToken: owner.deviceToken,
            apnTopic: topic, type: .message, chatID: [], message: [])
    }

    private static func madeUp(_ number: Int) -> AcceptedPush {
        let target = number % targetCount
        return AcceptedPush(
            target: Installation(
                keyHash: Keccak.shake256(Array("made up \(target % 50)".utf8)),
                installationID: BenchmarkOwners.universallyUniqueID("made up", target)),
            deduplicationKey: BenchmarkOwners.digest("made-up push", number), tokenType: .apn,
            deviceToken: DeviceToken(BenchmarkOwners.digest("made up", target).description),
            apnTopic: topic, type: .message, chatID: [], message: [])
    }
}
