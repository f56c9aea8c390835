import Envelope
import StatusCrypto
import Wire

/// A person's own word on where the devices are registered: `ContactCodeAdvertisement`, on the contact-code topic
/// (71/STATUS-PUSH-NOTIFICATION-SERVER, PROTOCOL.md §6).
enum Advertisement {
    /// How far back to look for one: advertisers repeat theirs twice a day, and nodes keep messages for some days.
    static let maximumAge = Duration.seconds(7 * 24 * 60 * 60)

    /// Signs an advertisement, and encrypts it for whoever knows the key that it is about.
    static func seal(
        _ infos: [PushNotificationQueryInfo], by owner: PrivateKey, segmenter: Segmenter, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) -> [[UInt8]] {
        var advertisement = ContactCodeAdvertisement()
        advertisement.pushNotificationInfo = infos
        let sealing = Sealing(segmenter: segmenter, signer: owner)
        // As reference clients wrap what they say in public.
        var wrapper = ProtocolMessage()
        wrapper.publicMessage = sealing.sign(advertisement.encoded(), type: .contactCodeAdvertisement)
        return try sealing.encrypt(wrapper.encoded(), for: .contactCode(owner.publicKey), using: &random)
    }

    /// What a person's advertisements say. Of each installation the one with the newest version counts, whole: a server that is in an older
    /// one only is not used any more.
    ///
    /// - Parameters:
    ///   - messages: in the order in which they were sent; others' are passed over.
    ///   - contact: see ``QueryAnswer``.
    static func devices(of person: IdentityKey, in messages: [OpenedMessage], to contact: PrivateKey?) -> [DeviceInfo] {
        var newest: [String: [DeviceInfo]] = [:]
        for message in messages where message.sender == person.publicKey && message.type == .contactCodeAdvertisement {
            guard let advertisement = try? ContactCodeAdvertisement.decode(message.payload) else { continue }
            let devices = advertisement.pushNotificationInfo.compactMap { info -> DeviceInfo? in
                guard let server = try? PublicKey(compressed: info.serverPublicKey) else { return nil }
                return DeviceInfo(info, of: .key(person), at: server, to: contact)
            }
            for (installationID, infos) in Dictionary(grouping: devices, by: \.installationID)
            where infos.newestVersion >= newest[installationID]?.newestVersion ?? 0 {
                newest[installationID] = infos
            }
        }
        return newest.sorted { $0.key < $1.key }.flatMap(\.value)
    }
}

extension [DeviceInfo] {
    fileprivate var newestVersion: UInt64 { map(\.version).max() ?? 0 }
}

extension PushNotificationQueryInfo {
    /// What an owner says of a registration of its own.
    ///
    /// - Parameter accessToken: nil when it is for contacts only: they ask the server for theirs.
    init(_ registration: AdvertisedServer, installationID: String, accessToken: String, isTokenPublic: Bool, of owner: PrivateKey) {
        self.init()
        if isTokenPublic { self.accessToken = accessToken }
        self.installationID = installationID
        publicKey = owner.publicKey.hash.bytes
        let server = registration.server.publicKey
        grant = owner.sign(Grant.digest(client: owner.publicKey, server: server, accessToken: accessToken)).bytes.bytes
        version = registration.version
        serverPublicKey = server.compressed.bytes
    }
}
