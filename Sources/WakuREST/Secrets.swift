import StatusCrypto

extension WakuNode: HoldsSecret {}
