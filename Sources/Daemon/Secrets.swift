import StatusCrypto

extension AdminServer.Content: HoldsSecret {}
extension Settings: HoldsSecret {}
