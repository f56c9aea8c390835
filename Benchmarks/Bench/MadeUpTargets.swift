import Bytes
import Foundation
import PushProtocol
import StatusCrypto
import Store
import Wire

/// Pushes to proven devices while the queue is full of pushes to invented targets (docs/LIMITS.md).
enum MadeUpTargets {
    private static let honestCount = 100
    private static let honestInterval = Duration.milliseconds(20)
    static let targetCount = 3_000
    /// The number of the attack's pushes, which keeps gorush busy for some seconds.
    static let attackCount = 30_000

    /// - Returns: The milliseconds from the commit of each honest push until gorush has received it.
    static func delays(besides attackCount: Int, _ seed: SeededStore, _ options: Options) async throws -> Sample {
        try await RunningDelivery.with(seed, options) { delivery in
            // Prove each honest device before the attack.
            try await delivery.enqueue((0..<honestCount).map { honest($0, "first") })
            try await delivery.drain()
            let earlierCount = delivery.gorush.notificationCount
            for start in stride(from: 0, to: attackCount, by: 1_000) {
                try await delivery.enqueue((start..<min(attackCount, start + 1_000)).map(madeUp))
            }
            var committed: [String: ContinuousClock.Instant] = [:]
            for number in 0..<honestCount {
                let push = honest(number, "second")
                try await delivery.enqueue([push])
                committed[push.deviceToken.text] = .now
                try await Task.sleep(for: honestInterval)
            }
            let arrivals = await delivery.gorush.arrivals(attackCount + honestCount, afterNotifications: earlierCount)
            return Sample(arrivals.compactMap { arrival in committed[arrival.token].map { max(0, (arrival.time - $0).seconds * 1_000) } })
        }
    }

    private static func honest(_ number: Int, _ round: String) -> AcceptedPush {
        let owner = Owner(number: number)
        return AcceptedPush(
            target: Installation(keyHash: owner.keyHash, installationID: owner.installationID),
            deduplicationKey: BenchmarkOwners.digest("honest push, \(round)", number), tokenType: .apn, deviceToken: owner.deviceToken,
            apnTopic: RunningDelivery.topic, type: .message, chatID: [], message: [])
    }

    private static func madeUp(_ number: Int) -> AcceptedPush {
        let target = number % targetCount
        return AcceptedPush(
            target: Installation(
                keyHash: Keccak.shake256(Array("made up \(target % 50)".utf8)),
                installationID: BenchmarkOwners.universallyUniqueID("made up", target)),
            deduplicationKey: BenchmarkOwners.digest("made-up push", number), tokenType: .apn,
            deviceToken: DeviceToken(BenchmarkOwners.digest("made up", target).description),
            apnTopic: RunningDelivery.topic, type: .message, chatID: [], message: [])
    }
}
