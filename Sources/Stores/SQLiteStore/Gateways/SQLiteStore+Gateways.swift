import Bytes
package import Envelope
import Foundation
import GRDB
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?] {
        try await queue.perform { transaction in
            try notifications.map { try transaction.enqueue($0, isDiscarded ? nil : $0.content, repeatsSince: repeatsSince, at: now) }
        }
    }

    package func withdraw(_ pushes: [Int64], at now: Timestamp) async throws {
        try await queue.perform { transaction in
            for push in pushes { try transaction.finish(push, as: .withdrawn, reason: .withdrawn, at: now) }
        }
    }
}

extension WriteTransaction {
    /// - Parameter content: The notification as it is stored. Nil discards it.
    fileprivate func enqueue(
        _ accepted: AcceptedNotification, _ content: [UInt8]?, repeatsSince: Timestamp?, at now: Timestamp
    ) throws -> Int64? {
        count(.accepted)
        if let device = Digest64(accepted.owner) { try database.recordUse(ofDevice: device, at: now) }
        if let repeatsSince, try database.isQueued(accepted.digest, since: repeatsSince) {
            count(.merged)
            return nil
        }
        let (target, topic) = (accepted.target, accepted.notification.topic ?? "")
        let route = try route(of: accepted.tokenType, apnTopic: topic)
        let digest = accepted.targetDigest
        let hasWorked =
            try database.first("SELECT 1 FROM proven_token WHERE token_digest = ?", try sealing.code(of: digest)) { try $0.next(Int.self) }
            != nil
        let new = try NewPush(accepted, content: content, route: route, hasWorked: hasWorked, outbox) {
            try reserveSlot(in: route, trust: $0, at: now)
        }
        let place = SealedPlace.push(to: target, deduplicationKey: accepted.digest)
        let id = try database.first(
            Self.insertNotification, new.state, route, now, new.next, new.end == nil ? nil : now, accepted.digest.prefix,
            accepted.digest, target.keyHash, accepted.tokenType, topic, try new.secrets.map { try sealing.seal($0.fields, in: place) },
            new.trust, try sealing.device(of: digest)
        ) { try $0.next(Int64.self) }
        if let end = new.end { count(end.outcome.milestone) }
        return id
    }

    /// The inserted row has the message 0 and no registration.
    private static let insertNotification = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_prefix, deduplication_key,
            key_hash, installation_id, token_type, type, apn_topic, secrets, trust, device)
        VALUES (0, ?, ?, ?, ?, ?, 0, ?, ?, ?, '', ?, 0, ?, ?, ?, ?) RETURNING id
        """
}
