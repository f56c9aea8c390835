package import Redaction

extension GatewayNotification: HoldsSecret {}
