import Redaction

extension PushNotificationRegistration: HoldsSecret {}
extension PushNotification: HoldsSecret {}
extension PushNotificationQueryInfo: HoldsSecret {}
extension ApplicationMetadataMessage: HoldsSecret {}
