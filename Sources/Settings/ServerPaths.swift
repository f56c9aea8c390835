/// The paths of a server's identity key and database: the settings for them, and the defaults.
package struct ServerPaths: Sendable {
    package static let keyFileSetting = "identity.keyFile"
    package static let databaseSetting = "storage.path"

    package var keyFile: String
    package var database: String

    /// Creates the absolute paths of a server without settings. systemd names a folder for the state of a service; a user has one by the
    /// XDG rules. Without a home folder the state is below the working directory.
    package init(environment: [String: String]) {
        var folder = (environment["HOME"].map { $0 + "/" } ?? "") + ".local/state/pushserver"
        if let named = environment["STATE_DIRECTORY"], !named.isEmpty { folder = named }
        folder = SettingsSource.absolute(folder, from: SettingsSource.workingDirectory)
        keyFile = folder + "/identity.key"
        database = folder + "/pushserver.sqlite"
    }

    /// Creates the paths of a server with these settings, for tools that need no other setting.
    package init(_ source: SettingsSource, environment: [String: String]) {
        self.init(environment: environment)
        if let found = source.find(Self.keyFileSetting) { keyFile = found.path }
        if let found = source.find(Self.databaseSetting) { database = found.path }
    }
}
