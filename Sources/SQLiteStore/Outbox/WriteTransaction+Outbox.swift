import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store
import Wire

extension WriteTransaction {
    /// Puts a push into the outbox. What can never fit into a payload is left out: peers may send a megabyte of it.
    ///
    /// - Parameter target: the registration it is for.
    func enqueue(_ accepted: DecidedBatch.Push, target: PushTargetRow?, at now: Timestamp) throws {
        let push = accepted.push
        let route = try route(of: push.tokenType, apnTopic: push.apnTopic)
        let end: (outcome: PushOutcome, reason: String?)? =
            if let outcome = accepted.outcome {
                (outcome, nil)
            } else if try !takePlace(in: route, isProven: target?.hasWorked ?? false, at: now) {
                // Reported as taken, as one that is filtered: whether a device has ever worked is no sender's business.
                (.refused, "queue full")
            } else {
                nil
            }
        let next = end == nil ? accepted.due?.nanoseconds ?? outbox.turn(for: push.target, in: route) : 0
        try database.run(
            Self.insertPush, accepted.message, end?.outcome.rawValue ?? OpenPushState.queued.rawValue, route, now, next,
            end == nil ? nil : now, end?.reason, push.deduplicationKey.prefix, push.deduplicationKey, push.target.keyHash,
            push.target.installationID,
            push.tokenType, push.type, push.apnTopic, end == nil ? push.deviceToken : "", end == nil ? Self.sendable(push.chatID) : [],
            end == nil ? Self.sendable(push.message) : [], target?.row)
        count(.accepted)
        if let end { count(end.outcome.milestone) }
    }

    /// Takes a place in the queue of a route, if there is one.
    func takePlace(in route: String, isProven: Bool, at now: Timestamp) throws -> Bool {
        try outbox.takePlace(in: route, isProven: isProven, at: now) {
            try database.count("SELECT count(*) FROM push WHERE route = ? AND finished_at IS NULL", route)
        }
    }

    /// Made once: putting it together for each call would cost more than running it.
    private static let insertPush = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, reason, attempts, deduplication_prefix, deduplication_key,
            key_hash, installation_id, token_type, type, apn_topic, device_token, chat_id, ciphertext, registration)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// Writes what becomes of a push; one that has ended is left alone.
    func apply(_ push: OutboxUpdate.Push, at now: Timestamp) throws {
        if push.dropsCiphertext {
            try database.run("UPDATE push SET ciphertext = x'' WHERE id = ? AND finished_at IS NULL", push.id)
        }
        switch push.change {
        case .lease(let notification):
            let changedCount = try database.run(
                """
                UPDATE push SET
                    state = \(OpenPushState.leased.rawValue), next_attempt_at = \(Int64.max), attempts = attempts + 1,
                    attempted_at = ?, notification_id = ?
                WHERE id = ? AND finished_at IS NULL AND state <> \(OpenPushState.leased.rawValue)
                """,
                now, notification, push.id)
            guard changedCount == 1 else {
                let isEnded = try database.first("SELECT finished_at IS NOT NULL FROM push WHERE id = ?", push.id) {
                    try $0.next(Bool.self)
                }
                throw isEnded ?? false ? StoreError.alreadyEnded : .damaged
            }
        case .postpone(let time):
            try database.run(
                """
                UPDATE push SET next_attempt_at = ?, reason = ?
                WHERE id = ? AND finished_at IS NULL AND state <> \(OpenPushState.leased.rawValue)
                """,
                time, push.reason, push.id)
        case .finish(let outcome):
            try finish(push.id, as: outcome, reason: push.reason, at: now)
        case .retry(let next, let isUnknown):
            let state: OpenPushState = isUnknown ? .unknown : .queued
            let changedCount = try database.run(
                "UPDATE push SET state = ?, next_attempt_at = ?, reason = ? WHERE id = ? AND finished_at IS NULL",
                state, next, push.reason, push.id)
            if isUnknown { count(.uncertain, by: changedCount) }
        case .release(let state):
            try database.run(
                """
                UPDATE push SET state = ?, next_attempt_at = 0, attempts = attempts - 1
                WHERE id = ? AND finished_at IS NULL AND state = \(OpenPushState.leased.rawValue)
                """,
                state, push.id)
        }
    }

    /// Ends an open push; one that has ended keeps its first outcome. A finished push keeps no secrets.
    ///
    /// - Returns: whether it was open.
    @discardableResult
    func finish(_ push: Int64, as outcome: PushOutcome, reason: String?, at now: Timestamp) throws -> Bool {
        let changedCount = try database.run(
            """
            UPDATE push SET
                state = ?, finished_at = ?, reason = ?, device_token = '', chat_id = x'', ciphertext = x'', notification = NULL
            WHERE id = ? AND finished_at IS NULL
            """,
            outcome, now, reason, push)
        count(outcome.milestone, by: changedCount)
        return changedCount == 1
    }

    private static func sendable(_ bytes: [UInt8]) -> [UInt8] {
        bytes.count <= Limits.maximumPushContentByteCount ? bytes : []
    }

    /// In which queue a push is put. All of a transaction go to a handful of queues: each is looked up once.
    func route(of tokenType: TokenType, apnTopic: String) throws -> String {
        try routes.name(of: tokenType, apnTopic: apnTopic) {
            try database.first("SELECT \(Self.route(tokenType: "?1", apnTopic: "?2"))", tokenType, apnTopic) { try $0.next() } ?? ""
        }
    }

    /// The name of the queue, as SQL.
    static func route(tokenType: String, apnTopic: String) -> String {
        """
        coalesce(
            (SELECT name FROM route WHERE token_type = \(tokenType) AND apn_topic = \(apnTopic)),
            (SELECT name FROM route WHERE token_type = \(tokenType) AND apn_topic = ''), '')
        """
    }
}

extension WriteTransaction {
    /// Ends the pushes that wait for an installation that has unregistered. Those under way end when they would wait again.
    func withdrawPushes(to target: Installation, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET
                state = ?3, finished_at = ?4, reason = ?5, device_token = '', chat_id = x'', ciphertext = x'', notification = NULL
            WHERE \(Self.isOpenPushOfTarget) AND state <> \(OpenPushState.leased.rawValue)
            """,
            target.keyHash, target.installationID, PushOutcome.withdrawn, now, "unregistered")
        count(.withdrawn, by: changedCount)
    }

    /// Lets pushes that wait tell of those that became one with them. One that has ended since stays as it is.
    func rewrite(_ held: HeldPush) throws {
        try database.run(
            "UPDATE push SET chat_id = ?, ciphertext = ? WHERE id = ? AND finished_at IS NULL",
            Self.sendable(held.content.chatID), Self.sendable(held.content.message), held.row)
    }

    /// Takes the key hash and the installation id as the first two values. The `+` keeps SQLite from putting the key hash into substr()
    /// for the column, which would hide the index from it.
    private static let isOpenPushOfTarget =
        "substr(key_hash, 1, 8) = substr(?1, 1, 8) AND installation_id = ?2 AND finished_at IS NULL AND +key_hash = ?1"
}

extension Database {
    /// Pushes to an installation that wait for a credit.
    ///
    /// - Parameter now: by the steady time.
    func heldPushes(to target: Installation, at now: Timestamp) throws -> [PushSlot: HeldPush] {
        let held = try all(Self.selectHeld, target.keyHash, target.installationID, now.advanced(by: HeldPush.closingTime)) { row in
            let (id, type) = (try row.next(Int64.self), try row.next(PushNotificationType.self))
            let content = PushContent(chatID: try row.next(), message: try row.next())
            return (PushSlot(target: target, type: type), HeldPush(row: id, content: content))
        }
        // The newest of a type, which is due last.
        return Dictionary(held) { first, _ in first }
    }

    /// The newest rows alone: what waits for a credit was put there when there were no others to put, and at most one of each slot.
    private static let selectHeld = """
        SELECT id, type, chat_id, ciphertext FROM (
            SELECT id, type, chat_id, ciphertext, next_attempt_at, attempts, state FROM push
            WHERE substr(key_hash, 1, 8) = substr(?1, 1, 8) AND installation_id = ?2 AND finished_at IS NULL AND +key_hash = ?1
            ORDER BY id DESC LIMIT 8
        ) WHERE attempts = 0 AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at > ?3
        """

    /// Whether a push with that deduplication key entered the outbox at that time or later.
    func isQueued(_ deduplicationKey: Digest32, since: Timestamp) throws -> Bool {
        try first(
            "SELECT 1 FROM push WHERE deduplication_prefix = ? AND deduplication_key = ? AND accepted_at >= ?", deduplicationKey.prefix,
            deduplicationKey, since
        ) { try $0.next() } ?? false
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
