import Redaction

extension SettingsSource: HoldsSecret {}
