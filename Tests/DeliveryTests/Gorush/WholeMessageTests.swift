import Bytes
import PushClient
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Delivery

/// What the client library promises to apps about the length of a message.
@Suite(.safetyNet) struct WholeMessageTests {
    @Test(arguments: GorushDataFormat.allCases, [TokenType.apn, .firebase])
    func `a ciphertext of the length that the client library promises is sent whole`(format: GorushDataFormat, type: TokenType) throws {
        let message = AcceptedPush(
            target: Installation(keyHash: Digest64(repeating: 7), installationID: "b6ae4fde-bb65-11ea-b3de-0242ac130004"),
            deduplicationKey: Digest32(), tokenType: type, deviceToken: "token", apnTopic: "im.status.ethereum", type: .message,
            chatID: [UInt8](repeating: 1, count: 64), message: [UInt8](repeating: 2, count: PushMessage.maximumWholeByteCount))
        let made = GorushGroup.make(from: queued([message]), NotificationShapes(format, NotificationTemplates()), oneTokenEach: true)
        let notification = try #require(made.first?.notification)
        let ciphertext: String? =
            switch notification.data {
            case .rfc71(_, let message, _): message
            case .statusGo(let encryptedMessage, _, _): encryptedMessage
            case .plain: nil
            }
        #expect(ciphertext == "0x" + String(repeating: "02", count: PushMessage.maximumWholeByteCount))
        // Some room is left for the operator's fields.
        #expect(GorushPayload.byteCount(of: notification) <= GorushPayload.maximumByteCount - 64)
    }
}
