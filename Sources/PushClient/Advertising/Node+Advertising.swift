import Envelope
import StatusCrypto
import Wire

extension Node {
    /// Advertises devices of one's own as servers describe them, for one who keeps nothing. An access token is told if it is known.
    package func advertise(_ devices: [DeviceInfo], as identity: Identity) async throws(PushClientError) {
        let infos = devices.map { device in
            var info = PushNotificationQueryInfo(
                AdvertisedServer(server: device.server, version: device.version), installationID: device.installationID,
                accessToken: device.accessToken ?? "", isTokenPublic: device.accessToken != nil, of: identity.privateKey)
            // A grant is over the token.
            if device.accessToken == nil { info.grant = [] }
            return info
        }
        let payloads = try sealing { random throws(RFC26.DataTooLong) in
            try Advertisement.seal(infos, by: identity.privateKey, segmenter: segmenter, using: &random)
        }
        try await exchange.publish(payloads, on: .contactCode(identity.privateKey.publicKey))
    }
}
