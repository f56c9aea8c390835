import Redaction

extension DeliveryConfiguration.Endpoint: HoldsSecret {}
extension GorushNotification: HoldsSecret {}
