package import Bytes
package import PushProtocol
import StatusCrypto
import Wire

/// The secrets of a registration as the columns of its row keep them: in clear, or sealed with the columns in clear empty.
package struct RegistrationColumns: Sendable {
    package let accessToken: AccessToken?
    package let deviceToken: DeviceToken?
    /// The sealed tokens.
    package let secrets: [UInt8]?
    package let tokenCode: FixedBytes<16>?
    package let allowedKeys: [UInt8]?
    package let sealedAllowedKeys: [UInt8]?
    package let chatLists: [UInt8]?
    package let sealedChatLists: [UInt8]?

    /// - Throws: `StoreError.sealingKeyMissing` in a locked database.
    package init(_ registration: Registration, _ sealing: RowSealing) throws(StoreError) {
        let (installation, content) = (registration.installation, registration.content)
        let tokens = RegistrationTokens(access: content.accessToken, device: content.deviceToken, version: content.version)
        secrets = try sealing.seal(tokens.fields, in: .registration(installation, version: content.version))
        accessToken = secrets == nil ? content.accessToken : nil
        deviceToken = secrets == nil ? content.deviceToken : nil
        tokenCode = sealing.code(of: content.deviceToken)
        (allowedKeys, sealedAllowedKeys) = try sealing.columns(
            ListColumn.allowedKeys(of: content), in: .allowedKeys(of: installation, version: content.version))
        (chatLists, sealedChatLists) = try sealing.columns(
            ListColumn.chatLists(of: content), in: .chatLists(of: installation, version: content.version))
    }
}
