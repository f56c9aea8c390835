package import Envelope
import GRDB
package import PushProtocol
import StatusCrypto
import Wire

/// A registration that was unregistered because its device token was dead. Without the token: it is a secret.
package struct DeadRegistration: Sendable, Equatable {
    package var id: Int64
    package var diedAt: Timestamp
    package var reason: String
    package var route: String
    package var installation: Installation
    package var version: UInt64
}

extension PushStore {
    /// What can be restored, the newest first.
    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await read { database in
            try database.all(
                "SELECT id, died_at, reason, route, key_hash, content FROM dead_registration ORDER BY id DESC LIMIT ?", Int64(limit)
            ) { row in
                let content = try Self.content(row.bytes(5))
                return DeadRegistration(
                    id: row.integer(0), diedAt: row.timestamp(1), reason: row.text(2), route: row.text(3),
                    installation: Installation(keyHash: try row.fixedBytes(4), installationID: content.installationID),
                    version: content.version)
            }
        }
    }

    /// Puts registrations back that were taken for dead, unless their owners have registered or unregistered since.
    ///
    /// - Parameter ids: nil: all there are.
    /// - Returns: those that are live again.
    package func restoreDeadRegistrations(_ ids: [Int64]? = nil, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await commit { transaction in
            let database = transaction.database
            let ids = try ids ?? database.all("SELECT id FROM dead_registration") { $0.integer(0) }
            return try ids.compactMap { id in
                let dead = try database.first(
                    """
                    SELECT died_at, plain_topic, prefixed_topic, key_hash, plaintext_digest, content
                    FROM dead_registration WHERE id = ?
                    """, id
                ) { row in
                    (
                        registration: Registration(
                            keyHash: try row.fixedBytes(3), content: try Self.content(row.bytes(5)),
                            plaintextDigest: try row.fixedBytes(4)),
                        topics: QueryTopics(
                            plain: UInt32(truncatingIfNeeded: row.integer(1)), prefixed: UInt32(truncatingIfNeeded: row.integer(2)))
                    )
                }
                guard let dead else { return nil }
                try database.run("DELETE FROM dead_registration WHERE id = ?", id)
                guard let stored = try transaction.stored(dead.registration.installation), !stored.version.isRegistered,
                    stored.version.version == dead.registration.content.version
                else { return nil }
                let row = try transaction.register(dead.registration, replacing: stored, topics: dead.topics, at: now)
                return ChangedRegistration(registration: row, topics: dead.topics)
            }
        }
    }

    private static func content(_ bytes: [UInt8]) throws(StoreError) -> PushNotificationRegistration {
        do throws(WireError) { return try PushNotificationRegistration.decode(bytes) } catch { throw .damaged }
    }
}
