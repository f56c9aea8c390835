import Bytes
import PushProtocol
import StatusCrypto
import Store
import Wire

/// The first push to a new device behind thousands of pushes that a stranger sent to devices of his own, whose bundle id has just become
/// known (docs/LIMITS.md).
enum StrangersDevices {
    static let deviceCount = 256
    static let pushCount = 5_000
    /// A request of gorush to Apple or Google over a slow line.
    static let gorushMilliseconds = 100

    /// - Returns: The milliseconds from the commit of the new device's push until gorush has received it.
    static func delay(behind count: Int, _ seed: SeededStore, _ options: Options) async throws -> Double {
        try await RunningDelivery.with(seed, options, gorushArguments: ["--delay", "\(gorushMilliseconds)"]) { delivery in
            try await delivery.enqueue([push(-2, to: "first device")])
            try await delivery.drain()
            for start in stride(from: 0, to: count, by: 1_000) {
                try await delivery.enqueue((start..<min(count, start + 1_000)).map(stranger))
            }
            // The first delivery makes the bundle id known.
            if count > 0 { _ = await delivery.gorush.arrivals(deviceCount, afterNotifications: 1) }
            let earlierCount = delivery.gorush.notificationCount
            let new = push(-1, to: "new device")
            try await delivery.enqueue([new])
            let committed = ContinuousClock.now
            var (arrivalCount, arrival): (Int, GorushProcess.Arrival?) = (1, nil)
            while arrival == nil {
                arrival = await delivery.gorush.arrivals(arrivalCount, afterNotifications: earlierCount).first {
                    $0.token == new.deviceToken.text
                }
                arrivalCount = min(2 * arrivalCount, count + 2 - earlierCount)
            }
            return arrival.map { max(0, ($0.time - committed).seconds * 1_000) } ?? .nan
        }
    }

    private static func stranger(_ number: Int) -> AcceptedPush {
        push(number, to: "strange device \(number % deviceCount)", topic: "org.example.stranger")
    }

    private static func push(_ number: Int, to name: String, topic: String = RunningDelivery.topic) -> AcceptedPush {
        AcceptedPush(
            target: Installation(
                keyHash: Keccak.shake256(Array(name.utf8)), installationID: BenchmarkOwners.universallyUniqueID(name, 0)),
            deduplicationKey: BenchmarkOwners.digest("push to \(name)", number), tokenType: .apn,
            deviceToken: DeviceToken(BenchmarkOwners.digest(name, 0).description), apnTopic: topic, type: .message, chatID: [],
            message: [])
    }
}
