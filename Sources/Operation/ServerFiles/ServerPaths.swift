import Foundation

/// The paths to a server's identity key, database and sealing key: their settings and defaults.
package struct ServerPaths: Sendable {
    package static let keyFileSetting = "identity.keyFile"
    package static let databaseSetting = "storage.path"
    package static let sealingKeyFileSetting = "storage.sealingKeyFile"

    package var keyFile: String
    package var database: String
    /// The path to the sealing key file.
    package var sealingKeyFile: String
    /// The URL if the database is in PostgreSQL, or nil for an SQLite database.
    package var databaseURL: String?
    /// The file with PostgreSQL's password, or nil if none is set.
    package var passwordFile: String?

    /// Creates the absolute paths for a server without settings. For a service, systemd names a folder for its state. For a user, the XDG
    /// rules do. Without a home folder the state is below the working directory.
    package init(environment: [String: String]) {
        var folder = (environment["HOME"].map { $0 + "/" } ?? "") + ".local/state/pushserver"
        if let named = environment["STATE_DIRECTORY"], !named.isEmpty { folder = named }
        folder = AbsolutePath.of(folder, from: AbsolutePath.workingDirectory)
        keyFile = folder + "/identity.key"
        database = folder + "/pushserver.sqlite"
        sealingKeyFile = Self.defaultSealingKeyFile(keyFile: keyFile, database: database)
    }

    /// Names another database. If it has a sealing key file next to it, that file belongs to it.
    ///
    /// - Parameter path: A path, or a URL for PostgreSQL.
    package mutating func use(database path: String) {
        guard !path.hasPrefix("postgresql://"), !path.hasPrefix("postgres://") else { return databaseURL = path }
        databaseURL = nil
        database = path
        let neighbour = PrivateFile.folder(of: path) + "/" + Self.sealingKeyFileName
        if FileManager.default.fileExists(atPath: neighbour) { sealingKeyFile = neighbour }
    }

    private static let sealingKeyFileName = "sealing.key"

    /// Returns the default path for the sealing key file: next to the identity key, or next to the database if the identity is a
    /// credential.
    package static func defaultSealingKeyFile(keyFile: String, database: String) -> String {
        let neighbour = PrivateFile(path: keyFile).isCredential ? database : keyFile
        return PrivateFile.folder(of: neighbour) + "/" + sealingKeyFileName
    }
}
