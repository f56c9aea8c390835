package import Bytes
package import PushProtocol

/// The tokens of a registration, and the version that their sealed value belongs to.
package struct RegistrationTokens: Sendable {
    package var access: AccessToken
    package var device: DeviceToken
    package var version: UInt64

    package init(access: AccessToken, device: DeviceToken, version: UInt64) {
        self.access = access
        self.device = device
        self.version = version
    }

    /// The fields of the sealed value.
    package var fields: [[UInt8]?] { [access.field, device.field] }

    /// The length of the tokens in bytes.
    package var byteCount: Int { access.field.count + device.field.count }
}

extension RowSealing {
    /// Returns the tokens of a registration.
    ///
    /// - Parameter clear: The tokens that the row has in clear, and its version.
    package func open(
        _ sealed: [UInt8]?, orClear clear: RegistrationTokens, of installation: Installation
    ) throws(StoreError) -> RegistrationTokens {
        guard let fields = try open(sealed, count: 2, in: .registration(installation, version: clear.version)) else { return clear }
        return RegistrationTokens(
            access: AccessToken(field: fields[0]), device: DeviceToken(field: fields[1]), version: clear.version)
    }
}
