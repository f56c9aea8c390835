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

    /// The devices, at most one per installation and server. The last active installation is first, then the newest registration.
    package private(set) var devices: [DeviceInfo]
    /// When servers were last queried, or advertisements searched.
    package let learnedAt: Timestamp
    /// The number of consecutive lookups that found nobody, or devices without their tokens. Nil in states of version 0.1.0.
    private var incompleteCount: Int?

    /// Keeps the newest version per installation and server, and of equal versions the first.
    ///
    /// - Parameters:
    ///   - lastActiveFirst: The installations with known activity. The others follow.
    ///   - previous: What was known before the lookup.
    ///   - isComplete: Whether the lookup found all that it could find, or nil if the devices show that.
    package init(
        _ devices: [DeviceInfo], lastActiveFirst: [String], learnedAt: Timestamp, after previous: KnownDevices?, isComplete: Bool? = nil
    ) {
        self.learnedAt = learnedAt
        var kept: [DeviceInfo] = []
        for device in devices {
            if let index = kept.firstIndex(where: { $0.server == device.server && $0.installationID == device.installationID }) {
                if kept[index].version < device.version { kept[index] = device }
            } else {
                kept.append(device)
            }
        }
        let ranks = Dictionary(lastActiveFirst.enumerated().map { ($1, -$0) }) { first, _ in first }
        kept.sort {
            (ranks[$0.installationID] ?? .min, $0.version) > (ranks[$1.installationID] ?? .min, $1.version)
        }
        self.devices = kept
        let usable = Set(kept.filter { $0.accessToken != nil }.map(\.installationID))
        let isComplete = isComplete ?? (!kept.isEmpty && kept.allSatisfy { usable.contains($0.installationID) })
        incompleteCount = isComplete ? 0 : (previous?.incompleteCount ?? 0) &+ 1
    }

    package mutating func remove(where isGone: (DeviceInfo) -> Bool) {
        devices.removeAll(where: isGone)
        if devices.isEmpty { incompleteCount = max(incompleteCount ?? 0, 1) }
    }

    package func isFresh(at now: Timestamp) -> Bool {
        let count = incompleteCount ?? (devices.isEmpty ? 1 : 0)
        return isYounger(than: count > 0 && count <= Self.ages.count ? Self.ages[count - 1] : Self.maximumAge, at: now)
    }

    package func mayBeRefreshed(at now: Timestamp) -> Bool {
        !isYounger(than: Self.minimumAge, at: now)
    }

    private func isYounger(than age: Duration, at now: Timestamp) -> Bool {
        learnedAt <= now && now < learnedAt.advanced(by: age)
    }
}
