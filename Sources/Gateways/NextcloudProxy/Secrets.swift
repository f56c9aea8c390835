import StatusCrypto

extension PushToken: HoldsSecret {}
