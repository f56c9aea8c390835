package import Envelope
import GRDB
package import StatusCrypto
package import Wire

/// How many installations there are.
package struct RegistrationCounts: Sendable, Equatable {
    package var live: [TokenType: Int] = [:]
    /// Unregistered: of these only the version is kept.
    package var tombstones = 0
}

/// A registration as an operator may see it: no token, no lists.
package struct RegistrationSummary: Sendable, Equatable {
    package var installationID: String
    package var version: UInt64
    package var isLive: Bool
    package var updatedAt: Timestamp
    /// The rest is of live ones only.
    package var tokenType: TokenType
    package var apnTopic: String
    package var isEnabled: Bool
}

extension PushStore {
    /// Steps through all registrations: for a tool.
    package func registrationCounts() async throws -> RegistrationCounts {
        try await read { database in
            var counts = RegistrationCounts()
            try database.forEach("SELECT is_live, token_type, count(*) FROM registration GROUP BY 1, 2") { row in
                if row.bool(0) {
                    counts.live[TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(1)))] = Int(row.integer(2))
                } else {
                    counts.tombstones += Int(row.integer(2))
                }
            }
            return counts
        }
    }

    /// All registrations of a key, tombstones too, by installation id.
    package func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary] {
        try await read { database in
            try database.all(
                """
                SELECT installation_id, version, is_live, updated_at, token_type, apn_topic, enabled FROM registration
                WHERE key_prefix = ? AND is_live IN (0, 1) AND key_hash = ? ORDER BY installation_id
                """,
                keyHash.prefix, keyHash
            ) { row in
                RegistrationSummary(
                    installationID: row.text(0), version: UInt64(bitPattern: row.integer(1)), isLive: row.bool(2),
                    updatedAt: row.timestamp(3), tokenType: TokenType(rawValue: Int32(truncatingIfNeeded: row.integer(4))),
                    apnTopic: row.text(5), isEnabled: row.bool(6))
            }
        }
    }
}
