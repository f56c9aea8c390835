package import Envelope

/// An owner's known devices, and when the owner was last looked up.
package struct KnownDevices: Codable, Equatable, Sendable {
    /// Owners are looked up daily: often enough for changed devices, and rare enough not to reveal to servers when the user writes to the
    /// owner.
    package static let maximumAge = Duration.seconds(24 * 60 * 60)

    /// The ages at which a first, second and third incomplete lookup is repeated, by the next push. A contact who was just added becomes
    /// able to notify within minutes, while someone who stays a stranger is looked up once a day.
    package static let ages = [Duration.seconds(60), .seconds(5 * 60), .seconds(30 * 60)]

    /// An owner with a new device is looked up again at this age. A lookup takes seconds.
    package static let minimumAge = Duration.seconds(10 * 60)

    /// The number of devices per owner: as many installations as a server of this project keeps of an owner.
    package static let maximumCount = 64

    /// The number of devices per owner and server. A grant names no installation, so a server that the owner once authorised can invent
    /// installations. It must not displace those of other servers.
    package static let maximumCountPerServer = 16

    /// The devices, at most one per installation and server. The last active installation is first, then the newest registration. The
    /// devices that only their server vouches for are last.
    package private(set) var devices: [DeviceInfo]
    /// When servers were last queried, or advertisements searched.
    package let learnedAt: Timestamp
    /// The number of consecutive lookups that found nobody, or devices without their tokens. Nil in states of version 0.1.0.
    private var incompleteCount: Int?

    /// Keeps the newest version per installation and server, and of equal versions the first. Where not all can be kept, those that were
    /// known before are.
    ///
    /// - Parameters:
    ///   - devices: The devices that the owner has advertised, or whose grant is verified.
    ///   - others: The devices that only their server vouches for. None replaces one of `devices`, or a known device with its token.
    ///   - lastActiveFirst: The installations with known activity. The others follow.
    ///   - previous: What was known before the lookup.
    ///   - isComplete: Whether the lookup found all that it could find, or nil if the devices show that.
    package init(
        _ devices: [DeviceInfo], others: [DeviceInfo] = [], lastActiveFirst: [String], learnedAt: Timestamp, after previous: KnownDevices?,
        isComplete: Bool? = nil
    ) {
        self.learnedAt = learnedAt
        let ranks = Dictionary(lastActiveFirst.enumerated().map { ($1, -$0) }) { first, _ in first }
        func sorted(_ devices: [DeviceInfo]) -> [DeviceInfo] {
            devices.newest.sorted {
                (ranks[$0.installationID] ?? .min, $0.version) > (ranks[$1.installationID] ?? .min, $1.version)
            }
        }
        let known = previous?.devices ?? []
        let usable = Dictionary(known.filter { $0.accessToken != nil }.map { ($0.place, $0) }) { first, _ in first }
        let kept = (sorted(devices) + sorted(others.map { usable[$0.place] ?? $0 })).kept(knowing: Set(known.map(\.place)))
        self.devices = kept
        let reachable = Set(kept.filter { $0.accessToken != nil }.map(\.installationID))
        let isComplete = isComplete ?? (!kept.isEmpty && kept.allSatisfy { reachable.contains($0.installationID) })
        incompleteCount = isComplete ? 0 : (previous?.incompleteCount ?? 0) &+ 1
    }

    package mutating func remove(where isGone: (DeviceInfo) -> Bool) {
        devices.removeAll(where: isGone)
        if devices.isEmpty { incompleteCount = max(incompleteCount ?? 0, 1) }
    }

    /// How long the devices are used without another lookup.
    private var lifetime: Duration {
        let count = incompleteCount ?? (devices.isEmpty ? 1 : 0)
        return count > 0 && count <= Self.ages.count ? Self.ages[count - 1] : Self.maximumAge
    }

    package func isFresh(at now: Timestamp) -> Bool { isYounger(than: lifetime, at: now) }

    /// The time until a push looks the owner up again.
    func remainingLifetime(at now: Timestamp) -> Duration { now.duration(to: learnedAt.advanced(by: lifetime)) }

    package func mayBeRefreshed(at now: Timestamp) -> Bool {
        !isYounger(than: Self.minimumAge, at: now)
    }

    private func isYounger(than age: Duration, at now: Timestamp) -> Bool {
        learnedAt <= now && now < learnedAt.advanced(by: age)
    }
}

extension [DeviceInfo] {
    /// The newest version per installation and server, and of equal versions the first, in the order in which the places first appear.
    var newest: [DeviceInfo] {
        var indices: [DeviceInfo.Place: Int] = [:]
        var newest: [DeviceInfo] = []
        for device in self {
            if let index = indices[device.place] {
                if newest[index].version < device.version { newest[index] = device }
            } else {
                indices[device.place] = newest.count
                newest.append(device)
            }
        }
        return newest
    }

    /// The first device of each place, within the limits. The known places go first, and the order stays.
    func kept(knowing known: Set<DeviceInfo.Place>) -> [DeviceInfo] {
        var kept: Set<DeviceInfo.Place> = []
        var counts: [PublicKey: Int] = [:]
        for isKnown in [true, false] {
            for device in self where known.contains(device.place) == isKnown && kept.count < KnownDevices.maximumCount {
                guard counts[device.server, default: 0] < KnownDevices.maximumCountPerServer, kept.insert(device.place).inserted else {
                    continue
                }
                counts[device.server, default: 0] += 1
            }
        }
        return filter { kept.remove($0.place) != nil }
    }
}
