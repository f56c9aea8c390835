package import Bytes
package import PushProtocol

/// A registration's tokens, and the version that their sealed value belongs to.
package struct RegistrationTokens: Sendable {
    package var access: AccessToken
    package var device: DeviceToken
    package var version: UInt64

    package init(access: AccessToken, device: DeviceToken, version: UInt64) {
        self.access = access
        self.device = device
        self.version = version
    }

    /// The sealed value's fields.
    package var fields: [[UInt8]?] { [access.field, device.field] }

    /// How long the tokens are.
    package var byteCount: Int { access.field.count + device.field.count }
}

extension RowSealing {
    package func registrationTokens(
        _ sealed: [UInt8]?, of installation: Installation, version: UInt64
    ) throws(StoreError) -> RegistrationTokens {
        let fields = try open(sealed, count: 2, in: .registration(installation, version: version))
        return RegistrationTokens(access: AccessToken(field: fields[0]), device: DeviceToken(field: fields[1]), version: version)
    }
}
