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
            let (found, oldest) = try database.fetch(
                Suspicion.query(codes),
                .first("SELECT min(suspected_at) FROM suspect_token WHERE route = $1 AND is_proven", route) { try $0.next(Timestamp?.self) }
            )
            let stored = Dictionary(found.map { ($0.code, $0.suspicion) }) { first, _ in first }
            let suspicions = zip(tokens, codes).compactMap { token, code in stored[code].map { (token, $0) } }
            return Suspicions(byTarget: Dictionary(suspicions) { first, _ in first }, oldest: oldest ?? nil)
        }
    }
}

extension WriteTransaction {
    package func clear(_ suspicions: [Digest32]) throws {
        database.add("DELETE FROM suspect_token WHERE token_digest = ANY($1)", SQLArray(try suspicions.map { try sealing.code(of: $0) }))
    }
}

extension Suspicion {
    /// Returns the query of suspicions, with the codes of their device tokens.
    ///
    /// - Parameter codes: Codes of device tokens.
    static func query(_ codes: some Sequence<Digest32>) -> Query<[(code: Digest32, suspicion: Suspicion)]> {
        .all("SELECT token_digest, \(columns) FROM suspect_token WHERE token_digest = ANY($1)", SQLArray(codes)) {
            (try $0.next(), try $0.nextSuspicion())
        }
    }
}
