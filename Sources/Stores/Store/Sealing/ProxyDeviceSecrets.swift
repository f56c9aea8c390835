package import Bytes
import ServerCrypto
import StatusCrypto

/// The secrets that the Nextcloud push proxy keeps about a device.
package struct ProxyDeviceSecrets: Sendable {
    /// The user's key, as SubjectPublicKeyInfo.
    package var userKey: [UInt8]
    package var token: DeviceToken
    /// The token for calls, which is sealed separately, because it can be removed alone.
    package var voipToken: DeviceToken?

    package init(userKey: [UInt8], token: DeviceToken, voipToken: DeviceToken? = nil) {
        self.userKey = userKey
        self.token = token
        self.voipToken = voipToken
    }

    /// The sealed value's fields, without the token for calls.
    package var fields: [[UInt8]?] { [userKey, token.field] }
}

/// A device's sealed secrets as the columns of its row keep them.
package struct ProxyDeviceColumns: Sendable {
    /// User key and token.
    package let secrets: [UInt8]
    package let tokenCode: FixedBytes<16>
    /// The token for calls, or nil without one.
    package let voipSecrets: [UInt8]?
    package let voipTokenCode: FixedBytes<16>?

    /// - Throws: `StoreError.sealingKeyMissing` in a locked database.
    package init(_ device: ProxyDevice, _ sealing: RowSealing) throws(StoreError) {
        let identifier = device.identifier.digest
        let content = ProxyDeviceSecrets(userKey: device.userKey.der, token: device.token)
        secrets = try sealing.seal(content.fields, in: .proxyDevice(identifier))
        tokenCode = try sealing.code(of: device.token)
        voipSecrets = try sealing.seal(value: device.voipToken?.field, in: .proxyDeviceCalls(identifier))
        voipTokenCode = if let token = device.voipToken { try sealing.code(of: token) } else { nil }
    }
}

extension RowSealing {
    /// Returns a device's secrets.
    ///
    /// - Parameter calls: The sealed token for calls, or nil if the device has none.
    package func proxyDeviceSecrets(
        _ sealed: [UInt8]?, calls: [UInt8]?, of identifier: Digest64
    ) throws(StoreError) -> ProxyDeviceSecrets {
        let fields = try open(sealed, count: 2, in: .proxyDevice(identifier))
        let voipToken = try value(calls, in: .proxyDeviceCalls(identifier))
        return ProxyDeviceSecrets(
            userKey: fields[0] ?? [], token: DeviceToken(field: fields[1]), voipToken: voipToken.map { DeviceToken(field: $0) })
    }
}
