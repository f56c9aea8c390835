package import Bytes
import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func suspicions(against tokens: [Digest32], in route: String) async throws -> Suspicions {
        try await read { [sealing] database in
            let codes = try tokens.map { try sealing.code(of: $0) }
            let results = try database.fetch([
                Suspicion.command(SQLArray(codes)),
                Command("SELECT min(suspected_at) FROM suspect_token WHERE route = $1 AND is_proven", route),
            ])
            let stored = Dictionary(try results[0].map { try $0.nextSuspicion() }) { first, _ in first }
            let suspicions = zip(tokens, codes).compactMap { token, code in stored[code].map { (token, $0) } }
            return Suspicions(
                byTarget: Dictionary(suspicions) { first, _ in first },
                oldest: try results[1].map { try $0.next(Timestamp?.self) }.first ?? nil)
        }
    }
}

extension WriteTransaction {
    package func clear(_ suspicions: [Digest32]) throws {
        database.add("DELETE FROM suspect_token WHERE token_digest = ANY($1)", SQLArray(try suspicions.map { try sealing.code(of: $0) }))
    }
}

extension Suspicion {
    /// Returns the query of suspicions by codes of device tokens.
    static func command(_ codes: SQLArray<Digest32>) -> Command {
        Command(
            """
            SELECT token_digest, suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven FROM suspect_token
            WHERE token_digest = ANY($1)
            """,
            codes)
    }
}

extension RowCursor {
    /// Reads a suspicion and the code of its device token from the columns of ``Suspicion/command(_:)``.
    mutating func nextSuspicion() throws -> (Digest32, Suspicion) {
        let code: Digest32 = try next()
        let suspicion = Suspicion(
            since: try next(), refusedAt: try next(), refusalCount: try next(), countedCount: try next(), firstCountedAt: try next(),
            isProven: try next())
        return (code, suspicion)
    }
}
