import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import Store
import Wire

extension WriteTransaction {
    /// Puts a push into the outbox, without a text that can never fit into a payload: peers may send a megabyte.
    ///
    /// - Parameter target: the registration it is for.
    func enqueue(_ accepted: DecidedBatch.Push, target: PushTargetRow?, at now: Timestamp) throws {
        let push = accepted.push
        let route = try route(of: push.tokenType, apnTopic: push.apnTopic)
        let trust = try trust(inTargetThatWorked: target?.hasWorked ?? false, push.tokenType, apnTopic: push.apnTopic, in: route)
        let end: (outcome: PushOutcome, reason: String?)? =
            if let outcome = accepted.outcome {
                (outcome, nil)
            } else if try !reserveSlot(in: route, trust: trust, at: now) {
                // The sender sees a success, as with a filtered push: it must not learn whether the device has ever worked.
                (.refused, "queue full")
            } else {
                nil
            }
        let next = end == nil ? accepted.due?.nanoseconds ?? outbox.round(for: push.target, trust: trust, in: route) : 0
        try database.run(
            Self.insertPush, accepted.message, end?.outcome.rawValue ?? OpenPushState.queued.rawValue, route, now, next,
            end == nil ? nil : now, end?.reason, push.deduplicationKey.prefix, push.deduplicationKey, push.target.keyHash,
            push.target.installationID,
            push.tokenType, push.type, push.apnTopic, end == nil ? push.deviceToken : "", end == nil ? Self.sendable(push.chatID) : [],
            end == nil ? Self.sendable(push.message) : [], target?.row, trust)
        count(.accepted)
        if let end { count(end.outcome.milestone) }
    }

    /// Reserves a slot in the queue of a route.
    ///
    /// - Returns: Whether one was free.
    func reserveSlot(in route: String, trust: PushTrust, at now: Timestamp) throws -> Bool {
        try outbox.reserveSlot(in: route, trust: trust, at: now) {
            switch OutboxCapacity.Slots(trust) {
            case .knownBundleIDs:
                try database.count("SELECT count(*) FROM push WHERE route = ? AND trust IN (0, 1) AND finished_at IS NULL", route)
            case .unknownBundleIDs:
                try database.count("SELECT count(*) FROM push WHERE route = ? AND trust = 2 AND finished_at IS NULL", route)
            }
        }
    }

    /// Made once: putting it together for each call would cost more than running it.
    private static let insertPush = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, reason, attempts, deduplication_prefix, deduplication_key,
            key_hash, installation_id, token_type, type, apn_topic, device_token, chat_id, ciphertext, registration, trust)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// Applies a change of a push. Finished pushes stay as they are.
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
        bytes.count <= ProtocolLimits.maximumPushContentByteCount ? bytes : []
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

// MARK: Trust

extension WriteTransaction {
    /// - Parameter hasWorked: whether a push was delivered to the target before.
    func trust(
        inTargetThatWorked hasWorked: Bool, _ tokenType: TokenType, apnTopic: String, in route: String
    ) throws -> PushTrust {
        if hasWorked { return .proven }
        if tokenType != .apn || outbox.namedBundleIDs.contains(apnTopic) { return .unproven }
        let isKnown = try routes.isKnown(apnTopic, in: route) {
            try database.count(
                """
                SELECT (SELECT count(*) FROM delivered_topic WHERE route = ?1 AND apn_topic = ?2)
                    + (SELECT count(*) FROM route WHERE token_type = ?3 AND apn_topic = ?2 AND apn_topic <> '')
                """,
                route, apnTopic, tokenType) > 0
        }
        return isKnown ? .unproven : .unknownBundleID
    }

    /// A push was delivered to a bundle id. If it is the first one, other pushes to the bundle id leave the slots of unknown ones.
    func addDeliveredBundleID(_ apnTopic: String, in route: String) throws {
        let isNew = try database.run("INSERT OR IGNORE INTO delivered_topic (route, apn_topic) VALUES (?, ?)", route, apnTopic) == 1
        guard isNew else { return }
        try database.run(
            "UPDATE push SET trust = 1, \(Self.enterRound) WHERE route = ?2 AND trust = 2 AND finished_at IS NULL AND apn_topic = ?3",
            outbox.currentRound(trust: .unproven, in: route), route, apnTopic)
    }

    /// A push was delivered to a registration. If it is the first one, the other pushes that wait for it are those of a proven target.
    func addDelivery(to target: TargetRegistration, at now: Timestamp) throws {
        let installation = try database.first(
            "SELECT key_hash, installation_id FROM registration WHERE id = ? AND is_live = 1 AND version = ? AND delivered_at IS NULL",
            target.row, target.version
        ) { try $0.nextInstallation() }
        try database.run(
            "UPDATE registration SET delivered_at = ? WHERE id = ? AND is_live = 1 AND version = ?", now, target.row, target.version)
        guard let installation else { return }
        let routes = Set(
            try database.all("SELECT route FROM push WHERE \(Self.isOpenPushOfTarget)", installation.keyHash, installation.installationID) {
                try $0.next(String.self)
            })
        for route in routes {
            try database.run(
                "UPDATE push SET trust = 0, \(Self.enterRound("?3")) WHERE \(Self.isOpenPushOfTarget) AND route = ?4 AND registration = ?5",
                installation.keyHash, installation.installationID, outbox.currentRound(trust: .proven, in: route), route, target.row)
        }
    }

    /// Puts pushes without attempts into the round of their new trust: rounds of several trusts do not compare.
    private static let enterRound = enterRound("?1")

    private static func enterRound(_ round: String) -> String {
        "next_attempt_at = CASE WHEN next_attempt_at < \(OutboxFairQueue.roundLimit) THEN \(round) ELSE next_attempt_at END"
    }
}

extension WriteTransaction {
    /// Withdraws the waiting pushes to an unregistered installation. Pushes in flight finish when they would wait again.
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

    /// Writes the content of a deferred push with which others were coalesced. Finished pushes stay as they are.
    func rewrite(_ deferred: DeferredPush) throws {
        try database.run(
            "UPDATE push SET chat_id = ?, ciphertext = ? WHERE id = ? AND finished_at IS NULL",
            Self.sendable(deferred.content.chatID), Self.sendable(deferred.content.message), deferred.row)
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
    func deferredPushes(to target: Installation, at now: Timestamp) throws -> [PushSlot: DeferredPush] {
        let deferred = try all(Self.selectDeferred, target.keyHash, target.installationID, now.advanced(by: DeferredPush.closingTime)) {
            row in
            let (id, type) = (try row.next(Int64.self), try row.next(PushNotificationType.self))
            let content = PushContent(chatID: try row.next(), message: try row.next())
            return (PushSlot(target: target, type: type), DeferredPush(row: id, content: content))
        }
        // The newest of a type, which is due last.
        return Dictionary(deferred) { first, _ in first }
    }

    /// The newest rows alone: what waits for a credit was put there when there were no others to put, and at most one of each slot.
    private static let selectDeferred = """
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

/// The names and known bundle ids of routes that a transaction has looked up.
final class RouteNames {
    private struct Key: Hashable {
        var tokenType: TokenType
        var apnTopic: String
    }

    private struct BundleID: Hashable {
        var apnTopic: String
        var route: String
    }

    private var names: [Key: String] = [:]
    private var knownBundleIDs: [BundleID: Bool] = [:]

    fileprivate func name(of tokenType: TokenType, apnTopic: String, lookUp: () throws -> String) rethrows -> String {
        let key = Key(tokenType: tokenType, apnTopic: apnTopic)
        if let name = names[key] { return name }
        let name = try lookUp()
        names[key] = name
        return name
    }

    fileprivate func isKnown(_ apnTopic: String, in route: String, lookUp: () throws -> Bool) rethrows -> Bool {
        let key = BundleID(apnTopic: apnTopic, route: route)
        if let isKnown = knownBundleIDs[key] { return isKnown }
        let isKnown = try lookUp()
        knownBundleIDs[key] = isKnown
        return isKnown
    }
}
