import StatusCrypto

extension AcceptedPush: HoldsSecret {}
extension PushTarget: HoldsSecret {}
extension QueryableRegistration: HoldsSecret {}
