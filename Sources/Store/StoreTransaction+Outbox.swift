package import Envelope
import GRDB
package import PushProtocol
package import StatusCrypto
import Wire

/// How a push ended: the number is stored.
package enum PushOutcome: Int64, Sendable, CaseIterable {
    case sent = 1
    case expired = 2
    case deadToken = 3
    case refused = 4
    /// Accepted in dry run: never sent.
    case discarded = 5

    var milestone: Milestone {
        switch self {
        case .sent: .sent
        case .expired: .expired
        case .deadToken: .dead
        case .refused: .refused
        case .discarded: .discarded
        }
    }
}

/// Where an open push stands: the number is stored beside those of ``PushOutcome``.
package enum OpenPushState: Int64, Sendable, CaseIterable {
    case queued = 0
    /// An attempt is under way. There is one server to a database: a lease that is found at the start was left by a crash.
    case leased = 6
    /// The newest attempt may have reached the phone (RELIABILITY.md I2). Tried again, under the same collapse identifier.
    case unknown = 7
}

/// Names one attempt towards gorush, which repeats it in its logs and its feedback. Random: a forged feedback must not hit.
package typealias NotificationID = FixedBytes<16>

extension StoreTransaction {
    /// Whether a push with that triple entered the outbox at that time or later (PROTOCOL.md §9: 10 minutes).
    package func isRemembered(triple: Digest32, since: Timestamp) throws -> Bool {
        try database.first(
            "SELECT 1 FROM push WHERE triple_prefix = ? AND triple = ? AND accepted_at >= ?", triple.prefix, triple, since
        ) { _ in true } ?? false
    }

    /// Puts a push into the outbox, due at once. A discarded one is final from the start, and none of its secrets is written. What can
    /// never fit into a payload is left out: peers may send a megabyte of it.
    ///
    /// - Parameter message: the row of the push request.
    package func enqueue(_ push: AcceptedPush, message: Int64, at now: Timestamp, discarded: Bool = false) throws {
        try database.run(
            Self.insertPush, message, discarded ? PushOutcome.discarded.rawValue : OpenPushState.queued.rawValue,
            try route(of: push.tokenType, apnTopic: push.apnTopic), now, discarded ? now : nil, push.triple.prefix, push.triple,
            push.target.keyHash, push.target.installationID, Int64(push.tokenType.rawValue), Int64(push.type.rawValue),
            push.apnTopic, discarded ? "" : push.deviceToken, discarded ? [] : Self.sendable(push.chatID),
            discarded ? [] : Self.sendable(push.message))
        count(.accepted)
        if discarded { count(.discarded) }
    }

    /// Made once: putting it together for each call would cost more than running it.
    private static let insertPush = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, attempts, triple_prefix, triple,
            key_hash, installation_id, token_type, type, apn_topic, device_token, chat_id, ciphertext)
        VALUES (?, ?, ?, ?, 0, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// Marks open pushes as being attempted; one that has ended, or is leased, is left alone.
    ///
    /// - Returns: how many are.
    package func lease(_ attempts: [(push: Int64, notification: NotificationID)], at now: Timestamp) throws -> Int {
        var leasedCount = 0
        for attempt in attempts {
            leasedCount += try database.run(
                """
                UPDATE push SET
                    state = \(OpenPushState.leased.rawValue), next_attempt_at = \(Int64.max), attempts = attempts + 1,
                    attempted_at = ?, notification_id = ?
                WHERE id = ? AND finished_at IS NULL AND state <> \(OpenPushState.leased.rawValue)
                """,
                now, attempt.notification, attempt.push)
        }
        return leasedCount
    }

    /// Ends open pushes; those that have ended keep their first outcome. A finished push keeps no secrets.
    ///
    /// - Parameter reason: for `audit`: a word of ours, nothing that a peer or gorush said.
    /// - Returns: how many ended.
    @discardableResult
    package func finish(_ pushes: [Int64], as outcome: PushOutcome, reason: String? = nil, at now: Timestamp) throws -> Int {
        var changedCount = 0
        for push in pushes {
            changedCount += try database.run(
                """
                UPDATE push SET state = ?, finished_at = ?, reason = ?, device_token = '', chat_id = x'', ciphertext = x''
                WHERE id = ? AND finished_at IS NULL
                """,
                outcome.rawValue, now, reason, push)
        }
        count(outcome.milestone, by: changedCount)
        return changedCount
    }

    /// Sets when an open push is tried again after an attempt that failed, or whose outcome is not known.
    package func postpone(_ push: Int64, until next: Timestamp, isUnknown: Bool = false, reason: String? = nil) throws {
        let state: OpenPushState = isUnknown ? .unknown : .queued
        let changedCount = try database.run(
            "UPDATE push SET state = ?, next_attempt_at = ?, reason = ? WHERE id = ? AND finished_at IS NULL",
            state.rawValue, next, reason, push)
        if isUnknown { count(.uncertain, by: changedCount) }
    }

    /// Gives a lease back unused: nothing was sent. The attempt does not count.
    ///
    /// - Parameter state: what it was before.
    package func release(_ push: Int64, to state: OpenPushState) throws {
        try database.run(
            """
            UPDATE push SET state = ?, next_attempt_at = 0, attempts = attempts - 1
            WHERE id = ? AND finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
            """,
            state.rawValue, push)
    }

    /// Makes pushes due that wait for their next attempt, because the last one failed for one of these reasons.
    package func hasten(route: String, reasons: [String], at now: Timestamp) throws {
        for reason in reasons {
            try database.run(
                """
                UPDATE push SET next_attempt_at = ?
                WHERE route = ? AND next_attempt_at > ? AND finished_at IS NULL AND state <> \(OpenPushState.leased.rawValue) AND reason = ?
                """,
                now, route, now, reason)
        }
    }

    /// Leaves the ciphertext of an open push out: it is too long for Apple or Google, and the phone is to be woken all the same.
    package func dropCiphertext(_ push: Int64) throws {
        try database.run("UPDATE push SET ciphertext = x'' WHERE id = ? AND finished_at IS NULL", push)
    }

    private static func sendable(_ bytes: [UInt8]) -> [UInt8] {
        bytes.count <= Limits.maximumPushContentByteCount ? bytes : []
    }

    /// In which queue a push is put. All of a transaction go to a handful of queues: each is looked up once.
    private func route(of tokenType: TokenType, apnTopic: String) throws -> String {
        try routes.name(of: tokenType, apnTopic: apnTopic) {
            let type = Int64(tokenType.rawValue)
            return try database.first("SELECT \(Self.route(tokenType: "?", apnTopic: "?"))", type, apnTopic, type) { $0.text(0) } ?? ""
        }
    }

    /// The name of the queue, as SQL; takes the type, the topic and the type again.
    static func route(tokenType: String, apnTopic: String) -> String {
        """
        coalesce(
            (SELECT name FROM route WHERE token_type = \(tokenType) AND apn_topic = \(apnTopic)),
            (SELECT name FROM route WHERE token_type = \(tokenType) AND apn_topic = ''), '')
        """
    }
}

/// The names of queues that a transaction has looked up.
final class RouteNames {
    private struct Key: Hashable {
        var tokenType: TokenType
        var apnTopic: String
    }

    private var names: [Key: String] = [:]

    fileprivate func name(of tokenType: TokenType, apnTopic: String, lookUp: () throws -> String) rethrows -> String {
        let key = Key(tokenType: tokenType, apnTopic: apnTopic)
        if let name = names[key] { return name }
        let name = try lookUp()
        names[key] = name
        return name
    }
}
