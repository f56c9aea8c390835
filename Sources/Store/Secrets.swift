import StatusCrypto

extension DeadToken: HoldsSecret {}
extension Reply: HoldsSecret {}
extension GatewayNotification: HoldsSecret {}
extension AcceptedNotification: HoldsSecret {}
extension ProxyDevice: HoldsSecret {}
