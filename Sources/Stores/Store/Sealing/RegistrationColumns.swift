package import Bytes
package import PushProtocol
import StatusCrypto
import Wire

/// A registration's sealed secrets, by column.
package struct RegistrationColumns: Sendable {
    /// Access token and device token.
    package let secrets: [UInt8]
    package let tokenCode: FixedBytes<16>
    /// The list alone, or nil if it is empty.
    package let allowedKeys: [UInt8]?
    /// The three chat lists, or nil if all are empty.
    package let chatLists: [UInt8]?

    /// - Throws: `StoreError.sealingKeyMissing` in a locked database.
    package init(_ registration: Registration, _ sealing: RowSealing) throws(StoreError) {
        let (installation, content) = (registration.installation, registration.content)
        let tokens = RegistrationTokens(access: content.accessToken, device: content.deviceToken, version: content.version)
        secrets = try sealing.seal(tokens.fields, in: .registration(installation, version: content.version))
        tokenCode = try sealing.code(of: content.deviceToken.folded(as: content.tokenType))
        allowedKeys = try sealing.seal(
            value: ListColumn.allowedKeys(of: content), in: .allowedKeys(of: installation, version: content.version))
        chatLists = try sealing.seal(value: ListColumn.chatLists(of: content), in: .chatLists(of: installation, version: content.version))
    }
}
