import StatusCrypto

extension AdminServer.Content: HoldsSecret {}
extension FeedbackSecret: HoldsSecret {}
extension Settings: HoldsSecret {}
