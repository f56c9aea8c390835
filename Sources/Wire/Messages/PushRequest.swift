/// `PushNotification.PushNotificationType`. Open: PROTOCOL.md §9 says what an unknown one means.
package struct PushNotificationType: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = PushNotificationType(rawValue: 0)
    package static let message = PushNotificationType(rawValue: 1)
    package static let mention = PushNotificationType(rawValue: 2)
    package static let requestToJoinCommunity = PushNotificationType(rawValue: 3)
}

package struct PushNotification: WireMessage {
    package var accessToken = ""
    package var chatID: [UInt8] = []
    /// Hash of the receiver's public key, 64 bytes.
    package var publicKey: [UInt8] = []
    package var installationID = ""
    /// Ciphertext of the message that is notified of.
    package var message: [UInt8] = []
    package var type = PushNotificationType.unknown
    package var author: [UInt8] = []

    package init() {}
}

package struct PushNotificationRequest: WireMessage {
    package var requests: [PushNotification] = []
    package var messageID: [UInt8] = []

    package init() {}
}

/// `PushNotificationReport.ErrorType`.
package struct ReportError: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let unknown = ReportError(rawValue: 0)
    package static let wrongToken = ReportError(rawValue: 1)
    package static let internalError = ReportError(rawValue: 2)
    package static let notRegistered = ReportError(rawValue: 3)
}

package struct PushNotificationReport: WireMessage {
    package var success = false
    package var error = ReportError.unknown
    package var publicKey: [UInt8] = []
    package var installationID = ""

    package init() {}
}

package struct PushNotificationResponse: WireMessage {
    package var messageID: [UInt8] = []
    package var reports: [PushNotificationReport] = []

    package init() {}
}
