package import Envelope
import GRDB

extension PushStore {
    /// Up to when everything on the pubsub topic is known to have been received; nil when nothing is known.
    package func checkpoint(of pubsubTopic: String) async throws -> Timestamp? {
        try await read { database in
            try database.first("SELECT received_until FROM checkpoint WHERE pubsub_topic = ?", pubsubTopic) { $0.timestamp(0) }
        }
    }

    /// Durable when it returns. An earlier one than before is taken as well: clocks are set back.
    package func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws {
        _ = try await commit { transaction in
            try transaction.database.run(
                """
                INSERT INTO checkpoint (pubsub_topic, received_until) VALUES (?1, ?2)
                ON CONFLICT (pubsub_topic) DO UPDATE SET received_until = ?2
                """,
                pubsubTopic, checkpoint)
        }
    }
}
