import StatusCrypto

extension SettingsSource: HoldsSecret {}
