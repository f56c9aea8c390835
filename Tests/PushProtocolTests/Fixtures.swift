import Bytes
import PushProtocol
import StatusCrypto
import Wire

/// Base values of the tests. Each test changes one value.
enum Fixture {
    static let accessToken: AccessToken = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
    static let keyHash = Digest64(repeating: 0x77)
    static let installationID = "c6ae4fde-bb65-11ea-b3de-0242ac130004"
    static let chat: [UInt8] = Array(repeating: 0xC4, count: 64)
    static let author: [UInt8] = Array(repeating: 0xA0, count: 64)
    static let messageID: [UInt8] = Array(repeating: 0x1D, count: 32)

    /// Returns a registration that passes every check.
    static func registration(_ change: (inout PushNotificationRegistration) -> Void = { _ in }) -> PushNotificationRegistration {
        var registration = PushNotificationRegistration()
        registration.tokenType = .apn
        registration.deviceToken = DeviceToken(String(repeating: "ab", count: 32))
        registration.installationID = installationID
        registration.accessToken = accessToken
        registration.enabled = true
        registration.version = 5
        registration.grant = Array(repeating: 0x22, count: 64) + [1]
        registration.apnTopic = "im.status.ethereum"
        change(&registration)
        return registration
    }

    /// Returns an enabled target that filters neither `chat` nor `author`.
    static func target(_ change: (inout PushTarget) -> Void = { _ in }) -> PushTarget {
        var target = PushTarget()
        target.accessToken = accessToken
        target.enabled = true
        target.tokenType = .apn
        target.deviceToken = DeviceToken(String(repeating: "ab", count: 32))
        target.apnTopic = "im.status.ethereum"
        target.allowedMentionsChatList = [chat]
        change(&target)
        return target
    }

    static func notification(
        _ type: PushNotificationType = .message, _ change: (inout PushNotification) -> Void = { _ in }
    ) -> PushNotification {
        var notification = PushNotification()
        notification.accessToken = accessToken
        notification.chatID = chat
        notification.publicKey = keyHash.bytes
        notification.installationID = installationID
        notification.message = [1, 2, 3]
        notification.type = type
        notification.author = author
        change(&notification)
        return notification
    }
}
