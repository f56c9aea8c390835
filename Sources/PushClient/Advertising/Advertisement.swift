import Envelope
import StatusCrypto
import Wire

/// A person's own word on where the devices are registered: `ContactCodeAdvertisement`, on the contact-code topic
/// (71/STATUS-PUSH-NOTIFICATION-SERVER, PROTOCOL.md §6).
enum Advertisement {
    /// How far back to look for one: advertisers repeat theirs twice a day, and nodes keep messages for some days.
    private static let maximumAge = Duration.seconds(7 * 24 * 60 * 60)

    /// From when on to look for advertisements.
    static func start(at now: Timestamp) -> Timestamp { now.advanced(by: .zero - maximumAge) }

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

    /// What an owner says when no server notifies the device any more: a description that names none. Reference clients pass it over.
    ///
    /// - Parameter version: of all registrations of the installation the highest: what was advertised before is over.
    init(withdrawing installationID: String, version: UInt64, of owner: PrivateKey) {
        self.init()
        self.installationID = installationID
        publicKey = owner.publicKey.hash.bytes
        self.version = version
    }

    /// Whether it is one of these.
    package var namesNoServer: Bool { serverPublicKey.isEmpty && accessToken.isEmpty && grant.isEmpty }
}
