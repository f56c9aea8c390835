extension SharedStore {
    package func ageFromSending(_ rows: [Int64]) async throws {
        try await writing { transaction in
            for row in rows {
                try transaction.database.add(
                    """
                    UPDATE message SET received_at = sent_at
                    WHERE id = $1 AND decided_at IS NULL AND sent_at > 0 AND sent_at < received_at
                    """,
                    row)
            }
        }
    }
}
