package import Redaction

extension Settings: HoldsSecret {}
extension SettingsSource: HoldsSecret {}
extension AdminServer.Content: HoldsSecret {}
