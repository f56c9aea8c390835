import StatusCrypto

extension GatewayRequest: HoldsSecret {}
