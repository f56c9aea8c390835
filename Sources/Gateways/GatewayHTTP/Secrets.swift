import Redaction

extension GatewayRequest: HoldsSecret {}
