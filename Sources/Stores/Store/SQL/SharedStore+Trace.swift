package import Bytes
package import Envelope
package import PushProtocol
import StatusCrypto
import Wire

extension SharedStore {
    package func progress(ofPush deduplicationKey: Digest32) async throws -> PushProgress? {
        try await reading { database in
            try database.first(
                """
                SELECT attempts, reason, words, state, finished_at IS NULL FROM push
                WHERE \(Reading.dialect.isPush) ORDER BY id DESC LIMIT 1
                """, deduplicationKey, deduplicationKey.prefix
            ) { row in
                let (attemptCount, reason, words): (Int64, String?, String?) = (try row.next(), try row.next(), try row.next())
                let (state, isOpen): (Int64, Bool) = (try row.next(), try row.next())
                return PushProgress(
                    attemptCount: Int(attemptCount), reason: reason, words: words, outcome: isOpen ? nil : PushOutcome(rawValue: state))
            }
        }
    }

    package func tracePushes(to target: Installation) async throws -> [TracedPush] {
        try await reading { database in
            try database.all(
                "\(selectTracedPush) WHERE push.key_hash = $1 AND push.installation_id = $2 ORDER BY push.id", target.keyHash,
                target.installationID
            ) { try $0.tracedPush() }
        }
    }

    package func waitingPushes(oldest limit: Int, acceptedSince start: Timestamp) async throws -> WaitingPushes {
        try await reading { database in
            let groups = try database.all(
                """
                SELECT route, reason, count(*), min(accepted_at) FROM push WHERE finished_at IS NULL
                GROUP BY route, reason ORDER BY min(accepted_at), route, reason
                """
            ) { row in
                WaitingPushes.Group(route: try row.next(), reason: try row.next(), count: try row.next(), oldestTime: try row.next())
            }
            let oldest = try database.all(
                "\(selectTracedPush) WHERE push.finished_at IS NULL ORDER BY push.accepted_at, push.id LIMIT $1", limit
            ) { try $0.readable { try $0.tracedPush() } }
            var (finishedCounts, openCount): ([PushOutcome: Int], Int) = ([:], 0)
            try database.forEach(
                "SELECT state, finished_at IS NULL, count(*) FROM push WHERE accepted_at >= $1 GROUP BY 1, 2", start
            ) { row in
                let (number, isOpen, count): (Int64, Bool, Int) = (try row.next(), try row.next(), try row.next())
                if isOpen { return openCount += count }
                // An audit reports a state that does not exist.
                if let outcome = PushOutcome(rawValue: number) { finishedCounts[outcome] = count }
            }
            return WaitingPushes(groups: groups, oldest: oldest.compactMap(\.self), finishedCounts: finishedCounts, openCount: openCount)
        }
    }

    package func traceRequests(_ id: [UInt8]) async throws -> [TracedRequest] {
        try await reading { [sealing] database in
            let dialect = Reading.dialect
            return try database.all(
                """
                SELECT id, hash, status_message_id, received_at, decided_at, \(dialect.isUnfinished), recipient, sealed_reply
                FROM message WHERE reply_type = $1 AND \(dialect.hasStatusMessageID) ORDER BY id
                """,
                MessageType.pushNotificationResponse
            ) { row -> TracedRequest? in
                let (message, hash, statusMessageID): (Int64, Digest32, Digest32?) = (try row.next(), try row.next(), try row.next())
                let (receivedAt, decidedAt, isWaiting): (Timestamp, Timestamp?, Bool) = (try row.next(), try row.next(), try row.next())
                let recipient: FixedBytes<33> = try row.next()
                let response: PushNotificationResponse = try row.nextMessage(sealing, in: .reply(to: recipient, message: message))
                guard [response.messageID, hash.bytes, statusMessageID?.bytes].contains(id) else { return nil }
                let reports = try response.reports.map { report in
                    let target = Digest64(report.publicKey).map { Installation(keyHash: $0, installationID: report.installationID) }
                    let push = try report.success ? target.flatMap { try database.push(of: response.messageID, to: $0) } : nil
                    return TracedRequest.Report(target: target, error: report.success ? nil : report.error, push: push)
                }
                return TracedRequest(
                    message: message, receivedAt: receivedAt, decidedAt: decidedAt, isPublished: !isWaiting, reports: reports)
            }.compactMap(\.self)
        }
    }
}

private let selectTracedPush = """
    SELECT push.message, message.received_at, push.route, push.accepted_at, push.attempts, push.attempted_at, push.reason, push.words,
        push.state, push.finished_at
    FROM push LEFT JOIN message ON message.id = push.message AND push.message <> 0
    """

extension SQLDatabase {
    /// Returns the newest push of a notification, or nil if none exists.
    fileprivate func push(of messageID: [UInt8], to target: Installation) throws -> TracedPush? {
        let key = DeduplicationKey.digest(messageID: messageID, installation: target)
        return try first(
            "\(selectTracedPush) WHERE \(Self.dialect.isPush) ORDER BY push.id DESC LIMIT 1", key, key.prefix
        ) { try $0.tracedPush() }
    }
}

extension SQLRow {
    fileprivate mutating func tracedPush() throws -> TracedPush {
        let (message, receivedAt, route): (Int64, Timestamp?, String) = (try next(), try next(), try next())
        let (acceptedAt, attemptCount): (Timestamp, Int) = (try next(), try next())
        let (attemptedAt, reason, words): (Timestamp?, String?, String?) = (try next(), try next(), try next())
        let (number, finishedAt): (Int64, Timestamp?) = (try next(), try next())
        return TracedPush(
            message: message, receivedAt: receivedAt, route: route, acceptedAt: acceptedAt, attemptCount: attemptCount,
            attemptedAt: attemptedAt, reason: reason, words: words, state: try TracedPush.State(stored: number, finishedAt: finishedAt))
    }
}
