import StatusCrypto

extension Device: HoldsSecret {}
extension PushToken: HoldsSecret {}
