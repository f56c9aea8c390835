package import Bytes
package import Envelope
import Wire

extension SharedStore {
    package func registrationCounts(since start: Timestamp?) async throws -> RegistrationCounts {
        try await reading { database in
            let start = start ?? Timestamp(nanoseconds: .min)
            var counts = RegistrationCounts()
            let rows = try database.all(
                "SELECT is_live, token_type, count(*) FROM registration WHERE updated_at >= $1 GROUP BY 1, 2", start
            ) { row in
                (isLive: try row.next(Bool.self), type: try row.next(TokenType?.self), count: try row.next(Int.self))
            }
            for row in rows {
                if row.isLive { counts.live[row.type ?? .unknown] = row.count } else { counts.tombstones += row.count }
            }
            counts.nextcloud = try database.count(
                "SELECT count(*) FROM nextcloud_device WHERE removed_at IS NULL AND updated_at >= $1", start)
            counts.nextcloudOrigin = try database.count("SELECT count(*) FROM nextcloud_origin_device WHERE created_at >= $1", start)
            return counts
        }
    }

    package func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary] {
        try await reading { database in
            try database.all(
                """
                SELECT installation_id, version, is_live, updated_at, coalesce(token_type, 0), coalesce(apn_topic, ''),
                    coalesce(enabled, false)
                FROM registration WHERE \(Reading.dialect.isOfKey) ORDER BY installation_id
                """,
                keyHash, keyHash.prefix
            ) { row in
                RegistrationSummary(
                    installationID: try row.next(), version: try row.next(), isLive: try row.next(), updatedAt: try row.next(),
                    tokenType: try row.next(), apnTopic: try row.next(), isEnabled: try row.next())
            }
        }
    }
}
