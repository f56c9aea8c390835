/// Where a server has what it keeps: the settings for it, and the paths without them.
package struct ServerPaths: Sendable {
    package static let keyFileSetting = "identity.keyFile"
    package static let databaseSetting = "storage.path"

    package var keyFile: String
    package var database: String

    /// Those of a server without settings. systemd names a folder for the state of a service; a user has one by the XDG rules.
    package init(environment: [String: String]) {
        var folder = (environment["HOME"] ?? ".") + "/.local/state/pushserver"
        if let named = environment["STATE_DIRECTORY"], !named.isEmpty { folder = named }
        keyFile = folder + "/identity.key"
        database = folder + "/pushserver.sqlite"
    }

    /// Those of a server with these settings: for tools beside it, which judge no other setting.
    package init(_ source: SettingsSource, environment: [String: String]) {
        self.init(environment: environment)
        if let found = source.find(Self.keyFileSetting) { keyFile = found.path }
        if let found = source.find(Self.databaseSetting) { database = found.path }
    }
}
