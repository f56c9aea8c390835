import Redaction

extension GatewayNotification: HoldsSecret {}
extension AcceptedNotification: HoldsSecret {}
