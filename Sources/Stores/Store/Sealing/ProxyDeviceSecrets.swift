package import Bytes
import StatusCrypto

/// The secrets of a device of the Nextcloud push proxy.
package struct ProxyDeviceSecrets: Sendable {
    /// The key of the user, as SubjectPublicKeyInfo.
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
    /// Returns the secrets of a device.
    ///
    /// - Parameters:
    ///   - calls: The sealed token for calls.
    ///   - clear: The secrets that the row has in clear.
    package func open(
        _ sealed: [UInt8]?, calls: [UInt8]?, orClear clear: ProxyDeviceSecrets, of identifier: Digest64
    ) throws(StoreError) -> ProxyDeviceSecrets {
        var secrets = clear
        if let fields = try open(sealed, count: 2, in: .proxyDevice(identifier)) {
            secrets.userKey = fields[0] ?? []
            secrets.token = DeviceToken(field: fields[1])
        }
        if let fields = try open(calls, count: 1, in: .proxyDeviceCalls(identifier)) {
            secrets.voipToken = DeviceToken(field: fields[0])
        }
        return secrets
    }
}
