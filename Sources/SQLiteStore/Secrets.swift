import StatusCrypto

extension ListFingerprints: HoldsSecret {}
