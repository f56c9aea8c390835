import Redaction

extension Device: HoldsSecret {}
extension PushToken: HoldsSecret {}
