import Bytes
import Envelope
import StatusCrypto
import Wire

/// An owner's own list of registrations: `ContactCodeAdvertisement`, on the contact-code topic (71/STATUS-PUSH-NOTIFICATION-SERVER,
/// PROTOCOL.md §6).
enum Advertisement {
    /// Long enough, because devices in use advertise twice a day, and nodes keep messages only for a few days.
    private static let maximumAge = Duration.seconds(7 * 24 * 60 * 60)

    /// Returns the time from which to look for advertisements.
    static func start(at now: Timestamp) -> Timestamp { now.advanced(by: .zero - maximumAge) }

    /// Signs an advertisement, and encrypts it for everyone who knows the advertised key.
    static func seal(
        _ infos: [PushNotificationQueryInfo], by owner: PrivateKey, segmenter: Segmenter, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) -> [[UInt8]] {
        var advertisement = ContactCodeAdvertisement()
        advertisement.pushNotificationInfo = infos
        let sealing = Sealing(segmenter: segmenter, signer: owner)
        // Reference clients wrap public messages in the same way.
        var wrapper = ProtocolMessage()
        wrapper.publicMessage = sealing.sign(advertisement.encoded(), type: .contactCodeAdvertisement)
        return try sealing.encrypt(wrapper.encoded(), for: .contactCode(owner.publicKey), using: &random)
    }
}

extension PushNotificationQueryInfo {
    /// Creates the description by which an owner advertises a registration.
    ///
    /// - Parameter accessToken: The token, or nil if only contacts may have it. They query theirs from the server.
    init(_ registration: AdvertisedServer, installationID: String, accessToken: AccessToken, isTokenPublic: Bool, of owner: PrivateKey) {
        self.init()
        if isTokenPublic { self.accessToken = accessToken }
        self.installationID = installationID
        publicKey = owner.publicKey.hash.bytes
        let server = registration.server.publicKey
        grant = owner.sign(Grant.digest(client: owner.publicKey, server: server, accessToken: accessToken)).bytes.bytes
        version = registration.version
        serverPublicKey = server.compressed.bytes
    }

    /// Creates the owner's statement that no server notifies the device any more: a description without a server. Reference clients ignore
    /// it.
    ///
    /// - Parameter version: The installation's highest version at any server. The statement withdraws everything up to it.
    init(withdrawing installationID: String, version: UInt64, of owner: PrivateKey) {
        self.init()
        self.installationID = installationID
        publicKey = owner.publicKey.hash.bytes
        self.version = version
    }

    /// Whether the description is such a statement.
    package var namesNoServer: Bool { serverPublicKey.isEmpty && accessToken.isEmpty && grant.isEmpty }
}
