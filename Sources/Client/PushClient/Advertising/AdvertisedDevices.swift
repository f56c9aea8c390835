import Bytes
import Envelope
import StatusCrypto
import Wire

/// An owner's advertisements, merged in turn.
///
/// An installation's newest advertisement replaces older ones as a whole, so servers that it leaves out are no longer used. Anyone can
/// repeat an old advertisement, so the signed versions decide which is newest. Time decides only between equal versions.
struct AdvertisedDevices: Equatable, Sendable {
    private struct Installation: Equatable {
        var devices: [DeviceInfo] = []
        /// The highest advertised version per server.
        var versions: [PublicKey: UInt64] = [:]
        /// The version up to which all registrations are withdrawn.
        var withdrawnVersion: UInt64 = 0
        var lastSentAt = Timestamp(nanoseconds: .min)
    }

    let owner: PublicKey
    private var installations: [String: Installation] = [:]

    init(of owner: PublicKey) {
        self.owner = owner
    }

    /// The owner's installations, the most recently advertised first. A device in use advertises twice a day, and there is no better sign
    /// that it is active.
    var installationIDs: [String] {
        installations.sorted { ($1.value.lastSentAt, $0.key) < ($0.value.lastSentAt, $1.key) }.map(\.key)
    }

    /// The device infos for each installation and server, ordered like ``installationIDs``.
    var devices: [DeviceInfo] { installationIDs.flatMap { installations[$0]?.devices ?? [] } }

    /// Whether the owner has advertised that no server notifies any device any more.
    var isWithdrawn: Bool { !installations.isEmpty && installations.values.allSatisfy(\.devices.isEmpty) }

    /// Merges an advertisement, unless it is outdated, unauthorised or signed with another key.
    ///
    /// - Parameter contact: See ``QueryResult``.
    mutating func take(_ message: OpenedMessage, sentAt: Timestamp, to contact: PrivateKey?) {
        guard message.sender == owner.publicKey, message.type == .contactCodeAdvertisement,
            let advertisement = try? ContactCodeAdvertisement.decode(message.payload)
        else { return }
        let infos = advertisement.pushNotificationInfo.filter { $0.publicKey == owner.hash.bytes.bytes }
        for (installationID, infos) in Dictionary(grouping: infos, by: \.installationID) {
            var installation = installations[installationID] ?? Installation()
            let devices = infos.compactMap { info in
                (try? StatusCrypto.PublicKey(compressed: info.serverPublicKey)).flatMap {
                    DeviceInfo(info, of: .key(owner), at: $0, to: contact)
                }
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
