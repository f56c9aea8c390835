import Redaction

extension PendingReply: HoldsSecret {}
