import Wire

/// The messages by their names in `Protos`, which vector files and generators use.
enum MessageKind: String, CaseIterable, Decodable, Sendable {
    case registration = "PushNotificationRegistration"
    case registrationResponse = "PushNotificationRegistrationResponse"
    case query = "PushNotificationQuery"
    case queryInfo = "PushNotificationQueryInfo"
    case queryResponse = "PushNotificationQueryResponse"
    case contactCode = "ContactCodeAdvertisement"
    case protocolMessage = "ProtocolMessage"
    case notification = "PushNotification"
    case request = "PushNotificationRequest"
    case report = "PushNotificationReport"
    case response = "PushNotificationResponse"
    case applicationMetadata = "ApplicationMetadataMessage"
    case segment = "SegmentMessage"
    case wakuMessage = "WakuMessage"

    var type: any FilledFromFields.Type {
        switch self {
        case .registration: PushNotificationRegistration.self
        case .registrationResponse: PushNotificationRegistrationResponse.self
        case .query: PushNotificationQuery.self
        case .queryInfo: PushNotificationQueryInfo.self
        case .queryResponse: PushNotificationQueryResponse.self
        case .contactCode: ContactCodeAdvertisement.self
        case .protocolMessage: ProtocolMessage.self
        case .notification: PushNotification.self
        case .request: PushNotificationRequest.self
        case .report: PushNotificationReport.self
        case .response: PushNotificationResponse.self
        case .applicationMetadata: ApplicationMetadataMessage.self
        case .segment: SegmentMessage.self
        case .wakuMessage: WakuMessage.self
        }
    }
}
