import StatusCrypto

extension HTTPBackend: HoldsSecret {}
extension NextcloudOrigin.Configuration: HoldsSecret {}
extension Notice: HoldsSecret {}
extension NoticeContent: HoldsSecret {}
extension NoticeRequest: HoldsSecret {}
extension Payload: HoldsSecret {}
