import Redaction

extension Settings: HoldsSecret {}
extension AdminServer.Content: HoldsSecret {}
