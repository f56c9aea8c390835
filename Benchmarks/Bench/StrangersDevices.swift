import Bytes
import Delivery
import Envelope
import PushProtocol
import SQLiteStore
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
        let gorush = try await GorushProcess(directory: options.directory, arguments: ["--delay", "\(gorushMilliseconds)"])
        let store = try SeededStore.open(seed.copy())
        var configuration = DeliveryConfiguration(endpoint: .init(url: gorush.url))
        configuration.knownBundleIDs = [topic]
        let wallClock = WallClock.system
        let loop = DeliveryLoop(
            store: store, configuration: configuration, clock: ContinuousClock(), wallClock: wallClock, logger: .silent,
            onUnregistered: { _ in })
        let delivering = Task { try await loop.run() }
        while loop.idleUntil(at: .zero) == nil { try await Task.sleep(for: .milliseconds(5)) }
        try await store.apply(at: wallClock.now()) { $0.enqueue(push(-2, to: "first device", topic: topic), message: 1) }
        loop.wake()
        while try await store.oldestQueuedPush() != nil { try await Task.sleep(for: .milliseconds(5)) }
        for start in stride(from: 0, to: count, by: 1_000) {
            try await store.apply(at: wallClock.now()) { batch in
                for number in start..<min(count, start + 1_000) { batch.enqueue(stranger(number), message: 1) }
            }
        }
        loop.wake()
        // The first delivery makes the bundle id known.
        if count > 0 { _ = await gorush.arrivals(deviceCount, afterNotifications: 1) }
        let earlierCount = gorush.notificationCount
        let new = newDevice
        try await store.apply(at: wallClock.now()) { $0.enqueue(new, message: 2) }
        loop.wake()
        let committed = ContinuousClock.now
        var (arrivalCount, arrival): (Int, GorushProcess.Arrival?) = (1, nil)
        while arrival == nil {
            arrival = await gorush.arrivals(arrivalCount, afterNotifications: earlierCount).first { $0.token == new.deviceToken.text }
            arrivalCount = min(2 * arrivalCount, count + 2 - earlierCount)
        }
        delivering.cancel()
        _ = try? await delivering.value
        await store.close()
        return arrival.map { max(0, ($0.time - committed).seconds * 1_000) } ?? .nan
    }

    private static let topic = "im.status.ethereum"

    private static func stranger(_ number: Int) -> AcceptedPush {
        push(number, to: "strange device \(number % deviceCount)", topic: "org.example.stranger")
    }

    private static let newDevice = push(-1, to: "new device", topic: topic)

    private static func push(_ number: Int, to name: String, topic: String) -> AcceptedPush {
        AcceptedPush(
            target: Installation(
                keyHash: Keccak.shake256(Array(name.utf8)), installationID: BenchmarkOwners.universallyUniqueID(name, 0)),
            deduplicationKey: BenchmarkOwners.digest("push to \(name)", number), tokenType: .apn,
            deviceToken: DeviceToken(BenchmarkOwners.digest(name, 0).description), apnTopic: topic, type: .message, chatID: [],
            message: [])
    }
}
