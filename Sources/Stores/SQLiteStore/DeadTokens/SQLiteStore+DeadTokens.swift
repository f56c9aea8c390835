package import Bytes
import GRDB
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func suspicions(against tokens: [Digest32], in route: String) async throws -> Suspicions {
        // The read uses the writer, because GRDB cancels the read of a cancelled task.
        try await queue.perform { transaction in
            let database = transaction.database
            var suspicions = Suspicions()
            for token in tokens {
                suspicions.byTarget[token] = try database.suspicion(code: transaction.sealing.code(of: token))
            }
            suspicions.oldest = try database.first(Self.selectOldestSuspicion, route) { try $0.next() }
            return suspicions
        }
    }

    private static let selectOldestSuspicion = """
        SELECT suspected_at FROM suspect_token WHERE route = ? AND is_proven = 1 ORDER BY suspected_at LIMIT 1
        """
}

extension WriteTransaction {
    package func clear(_ suspicions: [Digest32]) throws {
        for token in suspicions { try database.run("DELETE FROM suspect_token WHERE token_digest = ?", try sealing.code(of: token)) }
    }
}

extension Database {
    /// Returns the suspicion against a device token, or nil if none exists.
    func suspicion(code: Digest32) throws -> Suspicion? {
        try first(Self.selectSuspicion, code) { try $0.nextSuspicion() }
    }

    private static let selectSuspicion = "SELECT \(Suspicion.columns) FROM suspect_token WHERE token_digest = ?"
}
