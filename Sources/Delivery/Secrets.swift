import StatusCrypto

extension DeliveryConfiguration.Endpoint: HoldsSecret {}
extension GorushClient: HoldsSecret {}
extension GorushNotification: HoldsSecret {}
extension Outbox.Attempt: HoldsSecret {}
