import Redaction

extension ListFingerprints: HoldsSecret {}
