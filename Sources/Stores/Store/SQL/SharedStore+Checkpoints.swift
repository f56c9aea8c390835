package import Envelope

extension SharedStore {
    package func checkpoint(of pubsubTopic: String) async throws -> Timestamp? {
        try await reading { database in
            try database.first("SELECT received_until FROM checkpoint WHERE pubsub_topic = $1", pubsubTopic) { try $0.next() }
        }
    }

    package func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws {
        try await writing { transaction in
            try transaction.database.add(
                """
                INSERT INTO checkpoint (pubsub_topic, received_until) VALUES ($1, $2)
                ON CONFLICT (pubsub_topic) DO UPDATE SET received_until = excluded.received_until
                """,
                pubsubTopic, checkpoint)
        }
    }
}
