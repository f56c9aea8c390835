import Bytes
import Store

/// A sample of the devices that got a push lately, chosen by a keyed hash, so that no stranger can choose who is in it.
///
/// Times are monotonic and count from the delivery's start.
struct RecentDevices: Sendable {
    /// How long a device that got a push counts as recent.
    static let interval = Duration.seconds(48 * 3_600)
    /// The size of the sample.
    static let sampleCount = 60
    /// Devices that are kept, so that the sample stays full while some of them stop, and for the estimate of all. The error of that is a
    /// thirtieth.
    static let maximumCount = 1_000
    /// The sample is drawn again after that time.
    private static let validity = Duration.seconds(5)

    private let key: UInt64
    /// The devices with the least hashes, each with its hash and its last delivery.
    private var devices: [DeviceCode: (hash: UInt64, time: Duration)] = [:]
    /// A device with a hash above is not kept.
    private var bound = UInt64.max
    /// The current sample and its time.
    private(set) var sample: Set<DeviceCode> = []
    /// An estimate of how many devices got a push lately: exact while they are few. Counted with the sample, and kept up
    /// to date since.
    private(set) var count = 0
    private var sampledAt: Duration?

    init(key: UInt64) { self.key = key }

    mutating func record(_ device: DeviceCode, at time: Duration) {
        if let hash = devices[device]?.hash {
            devices[device] = (hash, time)
            return
        }
        let hash = hash(device)
        guard hash <= bound else { return }
        devices[device] = (hash, time)
        count += 1
        guard devices.count > Self.maximumCount else { return }
        let current = devices.filter { time - $0.value.time < Self.interval }
        let kept = current.sorted { $0.value.hash < $1.value.hash }.prefix(Self.maximumCount - Self.maximumCount / 10)
        devices = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
        bound = current.count > kept.count ? kept.last?.value.hash ?? .max : .max
    }

    mutating func forget(_ device: DeviceCode) {
        if devices.removeValue(forKey: device) != nil { count = max(0, count - 1) }
        sample.remove(device)
    }

    /// Draws the sample again, if it is not from the last seconds.
    mutating func refresh(at now: Duration) {
        if let sampledAt, now - sampledAt < Self.validity { return }
        let current = devices.filter { now - $0.value.time < Self.interval }.sorted { $0.value.hash < $1.value.hash }
        sample = Set(current.prefix(Self.sampleCount).map(\.key))
        sampledAt = now
        count = current.count
        // So many have stopped that the sample needs devices with greater hashes.
        if current.count < Self.sampleCount { bound = .max }
        if bound < .max, let greatest = current.last?.value.hash, greatest > 0 {
            count = Int(Double(current.count) * (Double(UInt64.max) / Double(greatest)))
        }
    }

    /// SplitMix64's mixing of the device's code and the key, which is enough for a choice that nobody sees.
    private func hash(_ device: DeviceCode) -> UInt64 {
        var value = key
        for index in 0..<8 { value ^= UInt64(device[index]) << (8 * index) }
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
