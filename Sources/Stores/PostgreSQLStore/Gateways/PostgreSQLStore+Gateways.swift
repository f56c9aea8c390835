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
            try transaction.finish(pushes.map { ($0, .withdrawn, "withdrawn") }, at: now)
        }
    }
}

extension WriteTransaction {
    /// - Parameter content: The notification as it is stored; nil discards it.
    fileprivate func enqueue(
        _ accepted: AcceptedNotification, _ content: [UInt8]?, repeatsSince: Timestamp?, _ routes: RouteTable, at now: Timestamp
    ) throws -> Int64? {
        count(.accepted)
        if let device = Digest64(accepted.owner) { recordUse(ofDevice: device, at: now) }
        if let repeatsSince {
            let repeats = try database.count(
                "SELECT count(*) FROM push WHERE deduplication_key = $1 AND accepted_at >= $2", accepted.digest, repeatsSince)
            if repeats > 0 {
                count(.merged)
                return nil
            }
        }
        let notification = accepted.notification
        let tokenType: TokenType = notification.platform == .ios ? .apn : .firebase
        let topic = notification.topic ?? ""
        // No registration has a key hash of zeros.
        let owner = Digest64(accepted.owner) ?? Digest64()
        let route = routes.route(of: tokenType, apnTopic: topic)
        // The bundle ids of gateways are those of the settings.
        let trust = PushTrust.unproven
        // A gateway can report that the queue is full.
        guard try content == nil || reserveSlot(in: route, trust: trust, at: now) else { throw StoreError.queueFull }
        let target = Installation(keyHash: owner, installationID: notification.token.text)
        let round = content == nil ? 0 : outbox.round(for: target, trust: trust, in: route)
        let place = SealedPlace.push(to: Installation(keyHash: owner, installationID: ""), deduplicationKey: accepted.digest)
        let secrets = try content.map {
            try sealing.seal(PushSecrets(deviceToken: notification.token, notification: $0).fields, in: place)
        }
        let id = try database.first(
            """
            INSERT INTO push (
                message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_key, key_hash, installation_id,
                token_type, type, apn_topic, secrets, trust, server)
            VALUES (0, $1, $2, $3, $4, $5, 0, $6, $7, '', $8, 0, $9, $10, $11, $12) RETURNING id
            """,
            content == nil ? PushOutcome.discarded.rawValue : OpenPushState.queued.rawValue, route, now, round,
            content == nil ? now : nil, accepted.digest, owner, tokenType, topic, secrets, trust, server
        ) { try $0.next(Int64.self) }
        if content == nil { count(.discarded) }
        return id
    }
}
