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
            for push in pushes { try transaction.finish(push, as: .withdrawn, reason: "withdrawn", at: now) }
        }
    }
}

extension WriteTransaction {
    /// - Parameter content: The notification as it is stored; nil discards it.
    fileprivate func enqueue(
        _ accepted: AcceptedNotification, _ content: [UInt8]?, repeatsSince: Timestamp?, at now: Timestamp
    ) throws -> Int64? {
        count(.accepted)
        if let device = Digest64(accepted.owner) { try recordUse(ofDevice: device, at: now) }
        if let repeatsSince, try database.isQueued(accepted.digest, since: repeatsSince) {
            count(.merged)
            return nil
        }
        let notification = accepted.notification
        let tokenType: TokenType = notification.platform == .ios ? .apn : .firebase
        let topic = notification.topic ?? ""
        // No registration has a key hash of zeros.
        let owner = Digest64(accepted.owner) ?? Digest64()
        let route = try route(of: tokenType, apnTopic: topic)
        // The bundle ids of gateways are those of the settings.
        let trust = PushTrust.unproven
        // A gateway can report that the queue is full.
        guard try content == nil || reserveSlot(in: route, trust: trust, at: now) else { throw StoreError.queueFull }
        let target = Installation(keyHash: owner, installationID: notification.token.text)
        let round = content == nil ? 0 : outbox.round(for: target, trust: trust, in: route)
        let place = SealedPlace.push(to: Installation(keyHash: owner, installationID: ""), deduplicationKey: accepted.digest)
        let secrets = try content.flatMap { content in
            try sealing.seal(PushSecrets(deviceToken: notification.token, notification: content).fields, in: place)
        }
        let id = try database.first(
            Self.insertNotification, content == nil ? PushOutcome.discarded.rawValue : OpenPushState.queued.rawValue,
            route, now, round, content == nil ? now : nil, accepted.digest.prefix, accepted.digest, owner,
            tokenType, topic, secrets, trust
        ) { try $0.next(Int64.self) }
        if content == nil { count(.discarded) }
        return id
    }

    /// The inserted row has the message 0 and no registration.
    private static let insertNotification = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, attempts, deduplication_prefix, deduplication_key,
            key_hash, installation_id, token_type, type, apn_topic, secrets, trust)
        VALUES (0, ?, ?, ?, ?, ?, 0, ?, ?, ?, '', ?, 0, ?, ?, ?) RETURNING id
        """
}
