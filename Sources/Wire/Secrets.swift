import StatusCrypto

extension PushNotificationRegistration: HoldsSecret {}
extension PushNotification: HoldsSecret {}
extension PushNotificationQueryInfo: HoldsSecret {}
extension ApplicationMetadataMessage: HoldsSecret {}
