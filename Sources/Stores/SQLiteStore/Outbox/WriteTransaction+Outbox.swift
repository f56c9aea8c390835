import Bytes
package import Envelope
import GRDB
import PushProtocol
import StatusCrypto
package import Store
package import Wire

extension WriteTransaction {
    /// Adds a push to the outbox.
    ///
    /// - Parameter target: The registration that the push is for; nil if it is not live.
    func enqueue(_ accepted: DecidedBatch.Push, target: PushTargetRow?, at now: Timestamp) throws {
        let push = accepted.push
        let route = try route(of: push.tokenType, apnTopic: push.apnTopic)
        let trust = try PushTrust(
            hasWorked: target?.hasWorked ?? false, push.tokenType, apnTopic: push.apnTopic, namedBundleIDs: outbox.namedBundleIDs
        ) { try isKnown(push.apnTopic, in: route) }
        let device = try sealing.device(of: push.targetDigest)
        let new = try NewPush(accepted, route: route, trust: trust) {
            try takeSlot(OutboxSlot(route: route, trust: trust, hasWorked: trust == .proven), for: device, at: now)
        }
        let place = SealedPlace.push(to: push.target, deduplicationKey: push.deduplicationKey)
        try database.run(
            Self.insertPush, accepted.message, new.state, route, now, new.next, new.end == nil ? nil : now, new.end?.reason?.rawValue,
            push.deduplicationKey.prefix, push.deduplicationKey, push.target.keyHash, push.target.installationID, push.tokenType,
            push.type, push.apnTopic, try new.secrets.map { try sealing.seal($0.fields, in: place) }, target?.row, trust,
            device)
        if let arrival = new.arrival(for: device) { outbox.arrived(arrival, in: route) }
        for milestone in new.milestones { count(milestone) }
    }

    /// The statement is a constant, because assembling its text for each call would take longer than its execution.
    private static let insertPush = """
        INSERT INTO push (
            message, state, route, accepted_at, next_attempt_at, finished_at, reason, attempts, deduplication_prefix, deduplication_key,
            key_hash, installation_id, token_type, type, apn_topic, secrets, registration, trust, device)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    package func applyPushes(_ changes: ChangeOrder, at now: Timestamp) throws {
        for (push, new) in changes.refusals {
            try database.run(
                "UPDATE push SET refused_at = ?, counted_refusals = ?, shortening = ? WHERE id = ? AND finished_at IS NULL",
                new.refusedAt, new.countedCount, new.shortening, push)
        }
        for (push, outcome) in changes.outcomes { _ = try finish(push, as: outcome, at: now) }
        for (push, next, state) in changes.retries {
            let attempt = push.attempt
            let changedCount = try database.run(
                Self.retryPush, state, next, push.reason?.rawValue, push.words, push.id, attempt?.count, attempt?.at,
                attempt?.uncertain.unansweredCount, attempt?.uncertain.broughtForwardCount, attempt?.uncertain.brokenCount)
            if state == .unknown { count(.uncertain, by: changedCount) }
        }
        for (push, state, next, reason) in changes.releases {
            try database.run(
                "UPDATE push SET state = ?, next_attempt_at = ?, reason = coalesce(?, reason) WHERE id = ? AND finished_at IS NULL", state,
                next, reason?.rawValue, push)
        }
    }

    @discardableResult
    package func finish(_ push: Int64, as outcome: PushOutcome, reason: PushReason?, at now: Timestamp) throws -> Bool {
        try finish(OutboxUpdate.Push(id: push, .finish(outcome), reason: reason), as: outcome, at: now)
    }

    private func finish(_ push: OutboxUpdate.Push, as outcome: PushOutcome, at now: Timestamp) throws -> Bool {
        let changedCount = try database.run(
            Self.finishPush, outcome, now, push.reason?.rawValue, push.words, push.id, push.attempt?.count, push.attempt?.at)
        count(outcome.milestone, by: changedCount)
        return changedCount == 1
    }

    /// Finishes an open push and erases its secrets. A finished push keeps its outcome. A push that was not sent keeps the words of its
    /// newest attempt, unless the change has others.
    private static let finishPush = """
        UPDATE push SET
            state = ?1, finished_at = ?2, reason = ?3,
            words = CASE ?1 WHEN \(PushOutcome.sent.rawValue) THEN NULL ELSE coalesce(?4, words) END, secrets = NULL,
            attempts = coalesce(?6, attempts), attempted_at = coalesce(?7, attempted_at)
        WHERE id = ?5 AND finished_at IS NULL
        """
    private static let retryPush = """
        UPDATE push SET
            state = ?1, next_attempt_at = ?2, reason = ?3, words = ?4, attempts = coalesce(?6, attempts),
            attempted_at = coalesce(?7, attempted_at), unanswered = coalesce(?8, unanswered),
            brought_forward = coalesce(?9, brought_forward), broken = coalesce(?10, broken)
        WHERE id = ?5 AND finished_at IS NULL
        """

    /// A transaction looks up each assignment once.
    package func route(of tokenType: TokenType, apnTopic: String) throws -> String {
        try routes.name(of: tokenType, apnTopic: apnTopic) {
            try database.first("SELECT \(Self.route(tokenType: "?1", apnTopic: "?2"))", tokenType, apnTopic) { try $0.next() } ?? ""
        }
    }

    /// The SQL expression for the name of the route.
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
    /// Returns whether a route names a bundle id, or a push to it was delivered. A transaction looks up each bundle id once.
    private func isKnown(_ apnTopic: String, in route: String) throws -> Bool {
        try routes.isKnown(apnTopic, in: route) {
            try database.count(
                """
                SELECT (SELECT count(*) FROM delivered_topic WHERE route = ?1 AND apn_topic = ?2)
                    + (SELECT count(*) FROM route WHERE token_type = ?3 AND apn_topic = ?2 AND apn_topic <> '')
                """,
                route, apnTopic, TokenType.apn) > 0
        }
    }

    package func addDeliveredBundleID(_ apnTopic: String, in route: String) throws {
        let isNew = try database.run("INSERT OR IGNORE INTO delivered_topic (route, apn_topic) VALUES (?, ?)", route, apnTopic) == 1
        guard isNew else { return }
        let devices = try database.all(
            """
            UPDATE push SET trust = \(PushTrust.unproven.rawValue), next_attempt_at = CASE
                WHEN reason = '\(PushReason.unprovenBundleID.rawValue)' AND next_attempt_at < \(NextAttempt.held) THEN \(NextAttempt.now)
                ELSE next_attempt_at END
            WHERE route = ? AND trust = \(PushTrust.unknownBundleID.rawValue) AND finished_at IS NULL AND apn_topic = ? RETURNING device
            """,
            route, apnTopic
        ) { try $0.next(DeviceCode.self) }
        for device in Set(devices) { outbox.arrived(Arrivals.Device(device: device, trust: .unproven), in: route) }
    }

    /// Records a delivery to a registration. After the first one, the open pushes to it are those of a proven target.
    func addDelivery(to target: TargetRegistration, at now: Timestamp) throws {
        let installation = try database.first(
            "SELECT key_hash, installation_id FROM registration WHERE id = ? AND is_live = 1 AND version = ? AND delivered_at IS NULL",
            target.row, target.version
        ) { try $0.nextInstallation() }
        try database.run(
            """
            UPDATE registration SET
                first_delivered_at = coalesce(first_delivered_at, delivered_at, ?1), delivered_at = max(coalesce(delivered_at, ?1), ?1)
            WHERE id = ?2 AND is_live = 1 AND version = ?3
            """,
            now, target.row, target.version)
        guard let installation else { return }
        try database.run(
            """
            UPDATE push SET trust = \(PushTrust.proven.rawValue)
            WHERE \(Self.isOpenPushOfTarget) AND registration = ?3 AND trust <> \(PushTrust.call.rawValue)
            """,
            installation.keyHash, installation.installationID, target.row)
    }
}

extension WriteTransaction {
    package func expirePushes(to device: DeviceCode, route: String, reason: PushReason, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = ?, finished_at = ?, reason = ?, secrets = NULL
            WHERE device = ? AND finished_at IS NULL AND route = ? AND next_attempt_at < \(NextAttempt.held)
            """,
            PushOutcome.expired, now, reason.rawValue, device, route)
        count(.expired, by: changedCount)
    }

    /// Tells the routes of waiting pushes to an installation that its token may have changed.
    func tellOfChange(_ target: Installation) throws {
        let waiting = try database.all(
            "SELECT DISTINCT route, device FROM push WHERE \(Self.isOpenPushOfTarget)", target.keyHash, target.installationID
        ) { (route: try $0.next(String.self), device: try $0.next(DeviceCode.self)) }
        for (route, device) in waiting { outbox.changed(device, in: route) }
    }

    /// Withdraws the waiting pushes to an unregistered installation. An attempt in flight ends without a trace.
    func withdrawPushes(to target: Installation, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET
                state = ?3, finished_at = ?4, reason = ?5, secrets = NULL
            WHERE \(Self.isOpenPushOfTarget)
            """,
            target.keyHash, target.installationID, PushOutcome.withdrawn, now, PushReason.unregistered.rawValue)
        count(.withdrawn, by: changedCount)
    }

    /// The SQL condition for the open pushes of a target, whose key hash and installation id are the first two values. Without the `+`,
    /// SQLite would substitute the key hash for the column in substr() and not use the index.
    private static let isOpenPushOfTarget =
        "substr(key_hash, 1, 8) = substr(?1, 1, 8) AND installation_id = ?2 AND finished_at IS NULL AND +key_hash = ?1"
}

extension Database {
    /// Returns the pushes to an installation that wait for a credit, at most one of each type.
    ///
    /// - Parameter now: The monotonic time.
    func deferredPushes(to target: Installation, at now: Timestamp, _ sealing: RowSealing) throws -> [PushSlot: DeferredPush] {
        let deferred = try all(Self.selectDeferred, target.keyHash, target.installationID, now.advanced(by: DeferredPush.closingTime)) {
            try $0.readable { try $0.nextDeferredPush(to: target, sealing) }
        }
        // The newest push of a type comes first. A damaged one is set aside when it is due.
        return Dictionary(deferred.compactMap(\.self)) { first, _ in first }
    }

    /// Selects among the 8 newest rows only. While a push waits for a credit, later pushes of its type are coalesced with it, so few rows
    /// are newer.
    private static let selectDeferred = """
        SELECT deduplication_key, id, type, secrets FROM (
            SELECT id, type, deduplication_key, secrets, next_attempt_at, attempts, state FROM push
            WHERE substr(key_hash, 1, 8) = substr(?1, 1, 8) AND installation_id = ?2 AND finished_at IS NULL AND +key_hash = ?1
            ORDER BY id DESC LIMIT 8
        ) WHERE attempts = 0 AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at > ?3
        """
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
