import Envelope
import StatusCrypto
import Wire

/// What a person's advertisements say, taken in one after the other.
///
/// The newest one of each installation counts, whole: a server that it does not name is not used any more. Anybody can repeat an old one,
/// so not the time decides which is the newest but the versions, which the person signed; only of two with the same versions the later one.
struct AdvertisedDevices: Equatable, Sendable {
    private struct Installation: Equatable {
        var devices: [DeviceInfo] = []
        /// The highest that was ever advertised of each server.
        var versions: [IdentityKey: UInt64] = [:]
        /// All registrations up to this version are over.
        var withdrawnVersion: UInt64 = 0
        var lastSentAt = Timestamp(nanoseconds: .min)
    }

    let person: IdentityKey
    private var installations: [String: Installation] = [:]

    init(of person: IdentityKey) {
        self.person = person
    }

    /// The installations of the person, the one that advertised last first. A device advertises twice a day as long as it is in use, so
    /// that is as much as can be known of when it was active.
    var installationIDs: [String] {
        installations.sorted { ($1.value.lastSentAt, $0.key) < ($0.value.lastSentAt, $1.key) }.map(\.key)
    }

    /// One for each installation and server, in the order of the installations.
    var devices: [DeviceInfo] { installationIDs.flatMap { installations[$0]?.devices ?? [] } }

    /// Whether the person said that no server notifies any device any more.
    var isWithdrawn: Bool { !installations.isEmpty && installations.values.allSatisfy(\.devices.isEmpty) }

    /// Takes in an advertisement; passes over what somebody else says, what is not authorised, and what is out of date.
    ///
    /// - Parameter contact: see ``QueryResult``.
    mutating func take(_ message: OpenedMessage, sentAt: Timestamp, to contact: PrivateKey?) {
        guard message.sender == person.publicKey, message.type == .contactCodeAdvertisement,
            let advertisement = try? ContactCodeAdvertisement.decode(message.payload)
        else { return }
        let infos = advertisement.pushNotificationInfo.filter { $0.publicKey == person.hash.bytes.bytes }
        for (installationID, infos) in Dictionary(grouping: infos, by: \.installationID) {
            var installation = installations[installationID] ?? Installation()
            let devices = infos.compactMap { info in
                (try? PublicKey(compressed: info.serverPublicKey)).flatMap { DeviceInfo(info, of: .key(person), at: $0, to: contact) }
            }
            if devices.isEmpty {
                guard let withdrawal = infos.first(where: \.namesNoServer),
                    installation.versions.values.allSatisfy({ $0 <= withdrawal.version })
                else { continue }
                installation.withdrawnVersion = max(installation.withdrawnVersion, withdrawal.version)
            } else {
                let isOutdated = devices.contains {
                    $0.version < installation.versions[$0.server] ?? 0 || $0.version <= installation.withdrawnVersion
                }
                guard !isOutdated else { continue }
                for device in devices { installation.versions[device.server] = device.version }
            }
            installation.devices = devices.sorted { $0.version > $1.version }
            installation.lastSentAt = max(installation.lastSentAt, sentAt)
            installations[installationID] = installation
        }
    }
}
