package import Bytes
package import Envelope
import Foundation

/// The folder with a server's automatic backups.
package struct BackupFolder: Sendable {
    private let path: String
    private let identity: FixedBytes<33>

    /// - Parameter identity: The compressed public key of this server. Other servers' backups in the folder stay as they are.
    package init(path: String, identity: FixedBytes<33>) {
        self.path = path
        self.identity = identity
    }

    /// Creates the folder with mode 0700 if it does not exist.
    package func create() throws(BackupError) {
        var folder = ""
        for part in path.split(separator: "/") {
            folder += "/\(part)"
            guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .unwritable(path: path, errno: errno) }
        }
    }

    /// Returns the backups in the folder, or none if it cannot be read.
    package func backups() -> [BackupName] {
        names.compactMap { BackupName($0, identity: identity) }
    }

    /// Removes partial backups left by a killed server. Call it only while no backup is being made.
    package func removeLeftovers() {
        for name in names {
            // A backup's name, a dot, and what `TemporaryName` adds.
            guard name.hasSuffix(".new"), BackupName(String(name.dropLast(".0123456789abcdef.new".count)), identity: identity) != nil
            else { continue }
            unsafe unlink(file(name))
        }
    }

    package func remove(_ backups: [BackupName]) {
        for backup in backups { unsafe unlink(file(backup.description)) }
    }

    package func path(of backup: BackupName) -> String { file(backup.description) }

    package func name(at time: Timestamp, isEncrypted: Bool) -> BackupName {
        BackupName(identity: identity, time: time, isEncrypted: isEncrypted)
    }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    private func file(_ name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }
}
