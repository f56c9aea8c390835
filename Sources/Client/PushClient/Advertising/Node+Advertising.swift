import Bytes
import Envelope
import StatusCrypto
import Wire

extension Node {
    /// Advertises the caller's devices as servers describe them, for a client without state. The advertisement contains each known access
    /// token.
    package func advertise(_ devices: [DeviceInfo], as identity: Identity) async throws {
        let infos = devices.map { device in
            var info = PushNotificationQueryInfo(
                AdvertisedServer(server: device.server, version: device.version), installationID: device.installationID,
                accessToken: AccessToken(device.accessToken ?? ""), isTokenPublic: device.accessToken != nil, of: identity.privateKey)
            // A grant is valid only with its token.
            if device.accessToken == nil { info.grant = [] }
            return info
        }
        let payloads = try sealing { random throws(RFC26.DataTooLong) in
            try Advertisement.seal(infos, by: identity.privateKey, segmenter: segmenter, using: &random)
        }
        try await exchange.publish(payloads, on: .contactCode(identity.privateKey.publicKey))
    }
}
