import Redaction

extension GatewayNotification: HoldsSecret {}
