package import ServerFiles

extension ServerPaths {
    /// Creates the paths for a server with these settings, for tools that don't need anything else.
    package init(_ source: SettingsSource, environment: [String: String]) {
        self.init(environment: environment)
        if let found = source.find(Self.keyFileSetting) { keyFile = found.path }
        if let found = source.find(Self.databaseSetting) { database = found.path }
        if source.find("storage.kind")?.value.text == "postgresql" { databaseURL = source.find("storage.url")?.value.text }
        passwordFile = source.find("storage.passwordFile")?.path
        sealingKeyFile =
            source.find(Self.sealingKeyFileSetting)?.path ?? Self.defaultSealingKeyFile(keyFile: keyFile, database: database)
    }
}
