package import Envelope

/// What is known of a person's devices, and since when.
package struct KnownDevices: Codable, Equatable, Sendable {
    /// After that the person is looked up again, though what is known was not proven wrong: devices come and go. A day, so that asking does
    /// not tell servers when somebody is written to.
    package static let maximumAge = Duration.seconds(24 * 60 * 60)

    /// After that a person with no known device, or with a new one, is looked up again. Looking costs seconds.
    package static let minimumAge = Duration.seconds(10 * 60)

    /// At most one for each installation and server. The installation that was active last is the first; then comes what was registered
    /// last.
    package private(set) var devices: [DeviceInfo]
    /// When servers or advertisements were asked last.
    package let learnedAt: Timestamp

    /// For one installation at one server the newest version counts, and of the same versions the first.
    ///
    /// - Parameter lastActiveFirst: installations whose activity is known; the others follow.
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
