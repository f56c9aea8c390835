package import Envelope

/// The known devices of an owner, and the time of the last lookup.
package struct KnownDevices: Codable, Equatable, Sendable {
    /// 24 h: the age at which the owner is looked up again, because devices change. A day, so that lookups do not reveal to servers when
    /// the user writes to the owner.
    package static let maximumAge = Duration.seconds(24 * 60 * 60)

    /// 10 min: the age at which an owner without a known device, or with a new device, is looked up again. A lookup takes seconds.
    package static let minimumAge = Duration.seconds(10 * 60)

    /// The devices, at most one per installation and server. The last active installation is first, then the newest registration.
    package private(set) var devices: [DeviceInfo]
    /// The time of the last query or search for advertisements.
    package let learnedAt: Timestamp

    /// Keeps the newest version per installation and server, and of equal versions the first.
    ///
    /// - Parameter lastActiveFirst: The installations with known activity; the others follow.
    package init(_ devices: [DeviceInfo], lastActiveFirst: [String], learnedAt: Timestamp) {
        self.devices = []
        self.learnedAt = learnedAt
        for device in devices {
            if let index = self.devices.firstIndex(where: { $0.server == device.server && $0.installationID == device.installationID }) {
                if self.devices[index].version < device.version { self.devices[index] = device }
            } else {
                self.devices.append(device)
            }
        }
        let ranks = Dictionary(lastActiveFirst.enumerated().map { ($1, -$0) }) { first, _ in first }
        self.devices.sort {
            (ranks[$0.installationID] ?? .min, $0.version) > (ranks[$1.installationID] ?? .min, $1.version)
        }
    }

    package mutating func remove(where isGone: (DeviceInfo) -> Bool) {
        devices.removeAll(where: isGone)
    }

    package func isFresh(at now: Timestamp) -> Bool {
        isYounger(than: devices.isEmpty ? Self.minimumAge : Self.maximumAge, at: now)
    }

    package func mayBeRefreshed(at now: Timestamp) -> Bool {
        !isYounger(than: Self.minimumAge, at: now)
    }

    private func isYounger(than age: Duration, at now: Timestamp) -> Bool {
        learnedAt <= now && now < learnedAt.advanced(by: age)
    }
}
