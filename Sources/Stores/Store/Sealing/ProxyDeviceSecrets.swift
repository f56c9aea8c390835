package import Bytes
import StatusCrypto

/// The secrets of a device of the Nextcloud push proxy.
package struct ProxyDeviceSecrets: Sendable {
    /// The user's key, as SubjectPublicKeyInfo.
    package var userKey: [UInt8]
    package var token: DeviceToken
    /// The token for calls, which has a sealed value of its own, because it can be removed alone.
    package var voipToken: DeviceToken?

    package init(userKey: [UInt8], token: DeviceToken, voipToken: DeviceToken? = nil) {
        self.userKey = userKey
        self.token = token
        self.voipToken = voipToken
    }

    /// The fields of the sealed value without the token for calls.
    package var fields: [[UInt8]?] { [userKey, token.field] }
}

extension RowSealing {
    /// Returns a device's secrets.
    ///
    /// - Parameter calls: The sealed token for calls, or nil without one.
    package func proxyDeviceSecrets(
        _ sealed: [UInt8]?, calls: [UInt8]?, of identifier: Digest64
    ) throws(StoreError) -> ProxyDeviceSecrets {
        let fields = try open(sealed, count: 2, in: .proxyDevice(identifier))
        let voipToken = try value(calls, in: .proxyDeviceCalls(identifier))
        return ProxyDeviceSecrets(
            userKey: fields[0] ?? [], token: DeviceToken(field: fields[1]), voipToken: voipToken.map { DeviceToken(field: $0) })
    }
}
