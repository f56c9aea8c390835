import Bytes
import Envelope
import GRDB
package import PushProtocol
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func tracePushes(to target: Installation) async throws -> [TracedPush] {
        try await read { database in
            try database.all(
                "\(Self.selectTracedPush) WHERE push.key_hash = ? AND push.installation_id = ? ORDER BY push.id", target.keyHash,
                target.installationID
            ) { try $0.nextTracedPush() }
        }
    }

    package func traceRequests(_ id: [UInt8]) async throws -> [TracedRequest] {
        try await read { [sealing] database in
            var requests: [TracedRequest] = []
            try database.forEach(Self.selectResponses, MessageType.pushNotificationResponse) { row in
                let (message, hash, statusMessageID): (Int64, Digest32, Digest32?) = (try row.next(), try row.next(), try row.next())
                let (receivedAt, decidedAt, isWaiting): (Timestamp, Timestamp?, Bool) = (try row.next(), try row.next(), try row.next())
                let recipient: FixedBytes<33> = try row.next()
                let response: PushNotificationResponse = try row.nextMessage(sealing, in: .reply(to: recipient, message: message))
                guard [response.messageID, hash.bytes, statusMessageID?.bytes].contains(id) else { return }
                let reports = try response.reports.map { report in
                    let target = Digest64(report.publicKey).map { Installation(keyHash: $0, installationID: report.installationID) }
                    let push = try report.success ? target.flatMap { try database.push(of: response.messageID, to: $0) } : nil
                    return TracedRequest.Report(target: target, error: report.success ? nil : report.error, push: push)
                }
                requests.append(
                    TracedRequest(
                        message: message, receivedAt: receivedAt, decidedAt: decidedAt, isPublished: !isWaiting, reports: reports))
            }
            return requests
        }
    }

    fileprivate static let selectTracedPush = """
        SELECT push.message, message.received_at, push.route, push.accepted_at, push.attempts, push.attempted_at, push.reason, push.state,
            push.finished_at
        FROM push LEFT JOIN message ON message.id = push.message AND push.message <> 0
        """
    private static let selectResponses = """
        SELECT id, hash, status_message_id, received_at, decided_at,
            EXISTS (SELECT 1 FROM unfinished_message WHERE unfinished_message.message = message.id), recipient, sealed_reply
        FROM message WHERE reply_type = ? AND status_prefix IS NOT NULL ORDER BY id
        """
}

extension Database {
    /// Returns the newest push of a notification; nil if none exists.
    fileprivate func push(of messageID: [UInt8], to target: Installation) throws -> TracedPush? {
        let key = DeduplicationKey.digest(messageID: messageID, installation: target)
        return try first(
            """
            \(SQLiteStore.selectTracedPush) WHERE push.deduplication_prefix = ? AND push.deduplication_key = ?
            ORDER BY push.id DESC LIMIT 1
            """,
            key.prefix, key
        ) { try $0.nextTracedPush() }
    }
}

extension RowCursor {
    fileprivate mutating func nextTracedPush() throws -> TracedPush {
        let (message, receivedAt, route): (Int64, Timestamp?, String) = (try next(), try next(), try next())
        let (acceptedAt, attemptCount): (Timestamp, Int) = (try next(), try next())
        let (attemptedAt, reason): (Timestamp?, String?) = (try next(), try next())
        let (number, finishedAt): (Int64, Timestamp?) = (try next(), try next())
        return TracedPush(
            message: message, receivedAt: receivedAt, route: route, acceptedAt: acceptedAt, attemptCount: attemptCount,
            attemptedAt: attemptedAt, reason: reason, state: try TracedPush.State(stored: number, finishedAt: finishedAt))
    }
}
