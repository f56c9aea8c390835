import Redaction

extension WakuNode: HoldsSecret {}
