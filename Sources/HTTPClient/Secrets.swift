import StatusCrypto

extension HTTPRequest: HoldsSecret {}
extension HTTPResponse: HoldsSecret {}
extension HTTPHeaders: HoldsSecret {}
