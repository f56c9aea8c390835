import Bytes
import Delivery
import Observation
import PostgreSQLStore
import PushProtocol
package import ServerFiles

extension Settings {
    /// Where the server's keys and database are.
    package var files: ServerFiles {
        ServerFiles(identityKeyFile: identityKeyFile, sealingKeyFile: sealingKeyFile, database: storage)
    }

    /// What the server tells its database about itself.
    package var databaseUse: DatabaseUse {
        DatabaseUse(
            serverName: serverName, serverPartFile: serverPartFile, version: BuildInfo.version,
            maximumQueueCount: delivery?.maximumQueuedPushCount ?? ProtocolLimits.maximumQueuedPushCount,
            maximumStoredByteCount: registrationPolicy.maximumStoredByteCount, namedBundleIDs: delivery?.knownBundleIDs ?? [])
    }

    private enum StorageKind: String, CaseIterable {
        case sqlite
        case postgresql
    }

    /// A server's name is a label of metrics.
    private static let maximumServerNameLength = 64

    /// Reads `storage.kind`, `storage.url` and `storage.passwordFile`.
    ///
    /// - Parameter path: Where an SQLite database is.
    static func readStorage(path: String, _ reader: inout SettingsReader) -> DatabaseLocation {
        let kind = reader.value("storage.kind", .choice, default: StorageKind.sqlite)
        let url = readURL(&reader)
        let password = reader.secret("storage.password")
        switch kind {
        case .sqlite:
            if reader.isSet("storage.url") { reader.report("storage.url", "has no effect without storage.kind: postgresql") }
        case .postgresql:
            guard let url else {
                if !reader.isSet("storage.url") { reader.report("storage.url", "required: a URL like postgresql://user@host/database") }
                break
            }
            for key in ["storage.backup.folder", "storage.backup.recipients"] where reader.isSet(key) {
                reader.report(key, "PostgreSQL has its own backups; docs/BACKUP.md describes them")
            }
            return .postgresql(url, password: password)
        }
        return .sqlite(path: path)
    }

    private static func readURL(_ reader: inout SettingsReader) -> PostgreSQLLocation? {
        let key = "storage.url"
        // Somebody may have put a password into it, which no error may show.
        let type = SettingType(expected: "a text", isSecret: true, parse: { $0.isEmpty ? nil : $0 }, show: { $0 })
        guard let text = reader.optional(key, type) else { return nil }
        do {
            return try PostgreSQLLocation(url: text)
        } catch {
            reader.report(key, "\(error)")
            return nil
        }
    }

    /// Reads `server.name`, the host's name by default.
    static func readServerName(_ reader: inout SettingsReader) -> String {
        reader.value("server.name", .name(maximumLength: maximumServerNameLength), default: HostName.current)
    }
}
