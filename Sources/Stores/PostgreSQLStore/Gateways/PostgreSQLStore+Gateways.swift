import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?] {
        try await write { transaction in
            let routes = try RouteTable(transaction.database)
            return try notifications.map {
                try transaction.enqueue($0, isDiscarded ? nil : $0.content, repeatsSince: repeatsSince, routes, at: now)
            }
        }
    }

    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await write { transaction in
            try transaction.finish(pushes.map { ($0, .withdrawn, .withdrawn, nil) }, at: now)
        }
    }
}

extension WriteTransaction {
    /// - Parameter content: The notification as it is stored; nil discards it.
    fileprivate func enqueue(
        _ accepted: AcceptedNotification, _ content: [UInt8]?, repeatsSince: Timestamp?, _ routes: RouteTable, at now: Timestamp
    ) throws -> Int64? {
        count(.accepted)
        if let device = Digest64(accepted.owner) { try database.recordUse(ofDevice: device, at: now) }
        if let repeatsSince {
            let repeats = try database.count(
                "SELECT count(*) FROM push WHERE deduplication_key = $1 AND accepted_at >= $2", accepted.digest, repeatsSince)
            if repeats > 0 {
                count(.merged)
                return nil
            }
        }
        let (target, topic) = (accepted.target, accepted.notification.topic ?? "")
        let route = routes.route(of: accepted.tokenType, apnTopic: topic)
        let digest = accepted.targetDigest
        let hasWorked =
            try database.count("SELECT count(*) FROM proven_token WHERE token_digest = $1", try sealing.code(of: digest)) > 0
        let new = try NewPush(accepted, content: content, route: route, hasWorked: hasWorked, outbox) {
            try reserveSlot(in: route, trust: $0, at: now)
        }
        let place = SealedPlace.push(to: target, deduplicationKey: accepted.digest)
        let id = try database.first(
            """
            INSERT INTO push (
                message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_key, key_hash, installation_id,
                token_type, type, apn_topic, secrets, trust, server, device)
            VALUES (0, $1, $2, $3, $4, $5, 0, $6, $7, '', $8, 0, $9, $10, $11, $12, $13) RETURNING id
            """,
            new.state, route, now, new.next, new.end == nil ? nil : now, accepted.digest, target.keyHash, accepted.tokenType, topic,
            try new.secrets.map { try sealing.seal($0.fields, in: place) }, new.trust, server, try sealing.device(of: digest)
        ) { try $0.next(Int64.self) }
        if let end = new.end { count(end.outcome.milestone) }
        return id
    }
}
