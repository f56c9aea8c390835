import Redaction

extension DeadToken: HoldsSecret {}
extension AttemptedPush: HoldsSecret {}
extension Reply: HoldsSecret {}
