import StatusCrypto

extension PendingReply: HoldsSecret {}
