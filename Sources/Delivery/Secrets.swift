import Redaction

extension DeliveryConfiguration.Endpoint: HoldsSecret {}
extension GorushClient: HoldsSecret {}
extension GorushNotification: HoldsSecret {}
extension TriedToken: HoldsSecret {}
