package import Envelope

extension SharedStore {
    package func checkpoints(of pubsubTopic: String) async throws -> [String: Timestamp] {
        try await reading { try $0.checkpoints(of: pubsubTopic) }
    }

    package func save(_ progress: HistoryProgress) async throws {
        let server = serverName
        try await writing { try $0.save(progress, of: server) }
    }

    package func holes(of pubsubTopic: String) async throws -> OpenHoles {
        try await reading { database in
            let listedUntil = try database.first(
                """
                SELECT coalesce(min(coalesce(listed_at, 0)), 0) FROM (\(Reading.dialect.livingServers)) AS living
                LEFT JOIN hole_listing ON server_name = living.name AND pubsub_topic = $1
                """, pubsubTopic
            ) { try $0.next(Timestamp.self) }
            return OpenHoles(try database.holes(of: pubsubTopic), listedUntil: listedUntil ?? Timestamp(nanoseconds: 0))
        }
    }
}

extension SharedWriteTransaction {
    fileprivate func save(_ progress: HistoryProgress, of server: String) throws {
        let newest =
            progress.start == nil
            ? nil : try database.checkpoints(of: progress.pubsubTopic).values.compactMap { $0.ifPast(at: progress.now) }.max()
        try database.add(
            """
            INSERT INTO checkpoint (pubsub_topic, received_until) VALUES ($1, $2)
            ON CONFLICT (pubsub_topic) DO UPDATE SET received_until = excluded.received_until
            """,
            progress.checkpointName, progress.checkpoint)
        let earlier = try database.holes(of: progress.pubsubTopic, forUpdate: true)
        let holes = progress.holes(after: earlier, newestCheckpoint: newest)
        for hole in Set(earlier).subtracting(holes) {
            try database.add("DELETE FROM hole WHERE pubsub_topic = $1 AND started_at = $2", progress.pubsubTopic, hole.period.lowerBound)
        }
        for hole in Set(holes).subtracting(earlier) {
            try database.add(
                """
                INSERT INTO hole (pubsub_topic, started_at, ended_at, found_at) VALUES ($1, $2, $3, $4)
                ON CONFLICT (pubsub_topic, started_at) DO UPDATE SET ended_at = excluded.ended_at, found_at = excluded.found_at
                """,
                progress.pubsubTopic, hole.period.lowerBound, hole.period.upperBound, hole.foundAt)
        }
        guard let listedAt = progress.listedAt else { return }
        try database.add(
            """
            INSERT INTO hole_listing (pubsub_topic, server_name, listed_at) VALUES ($1, $2, $3)
            ON CONFLICT (pubsub_topic, server_name) DO UPDATE SET listed_at = excluded.listed_at
            """,
            progress.pubsubTopic, server, listedAt)
    }
}

extension SQLDatabase {
    fileprivate func checkpoints(of pubsubTopic: String) throws -> [String: Timestamp] {
        let all = try all("SELECT pubsub_topic, received_until FROM checkpoint") { row in
            (try row.next(String.self), try row.next(Timestamp.self))
        }
        return Dictionary(uniqueKeysWithValues: all).filter { HistoryProgress.isCheckpoint($0.key, of: pubsubTopic) }
    }

    fileprivate func holes(of pubsubTopic: String, forUpdate: Bool = false) throws -> [Hole] {
        try all(
            """
            SELECT started_at, ended_at, found_at FROM hole WHERE pubsub_topic = $1 AND started_at <= ended_at ORDER BY started_at
            \(forUpdate ? Self.dialect.forUpdate : "")
            """, pubsubTopic
        ) { row in
            let (start, end) = (try row.next(Timestamp.self), try row.next(Timestamp.self))
            return Hole(start...end, foundAt: try row.next())
        }
    }
}
