import Bytes
package import Envelope
import GRDB
import PushProtocol
package import Store
import Wire

extension SQLiteStore: ImportStore {
    package func importInstallations(_ installations: [ImportedInstallation], at now: Timestamp) async throws {
        try await queue.perform { transaction in
            for installation in installations { try transaction.take(installation, at: now) }
        }
    }
}

extension WriteTransaction {
    fileprivate func take(_ installation: ImportedInstallation, at now: Timestamp) throws {
        switch installation {
        case .live(let registration):
            let row = try register(
                registration, replacing: database.stored(registration.installation),
                topics: QueryTopics(keyHash: registration.keyHash), at: now)
            try addDeliveries(to: [TargetRegistration(row: row, version: registration.content.version)], at: now)
        case .tombstone(let installation, let version, let plaintextDigest):
            // A key keeps few tombstones of installations that were never registered, and all others. The row is therefore registered
            // first.
            var content = PushNotificationRegistration()
            content.installationID = installation.installationID
            content.version = version
            let row = try register(
                Registration(keyHash: installation.keyHash, content: content, plaintextDigest: plaintextDigest),
                replacing: database.stored(installation), topics: QueryTopics(keyHash: installation.keyHash), at: now)
            let stored = StoredInstallation(
                row: row, version: StoredVersion(version: version, plaintextDigest: plaintextDigest, isRegistered: true))
            try unregister(installation, replacing: stored, version: version, plaintextDigest: plaintextDigest, at: now)
        }
    }
}
