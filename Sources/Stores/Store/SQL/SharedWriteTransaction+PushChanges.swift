package import Envelope
package import PushProtocol

extension SharedWriteTransaction {
    /// Applies changes of different pushes. Finished pushes, and those of other servers, do not change.
    func applyPushes(_ changes: ChangeOrder, at now: Timestamp) throws {
        try database.add(
            "UPDATE push SET refused_at = $2, counted_refusals = $3, shortening = $4 WHERE \(isOpenRow("$5"))",
            each: changes.refusals.map { ($0.push, $0.new.refusedAt, $0.new.countedCount, $0.new.shortening, owner) })
        try finish(changes.outcomes, at: now)
        let retried = try database.run(
            """
            UPDATE push SET
                state = $2, next_attempt_at = $3, reason = $4, words = $5, attempts = coalesce($6, attempts),
                attempted_at = coalesce($7, attempted_at), unanswered = coalesce($8, unanswered),
                brought_forward = coalesce($9, brought_forward), broken = coalesce($10, broken)
            WHERE \(isOpenRow("$11"))
            """,
            each: changes.retries.map { push, next, state in
                let attempt = push.attempt
                return (
                    push.id, state, next, push.reason?.rawValue, push.words, attempt?.count, attempt?.at,
                    attempt?.uncertain.unansweredCount, attempt?.uncertain.broughtForwardCount, attempt?.uncertain.brokenCount, owner
                )
            })
        for (retry, changedCount) in zip(changes.retries, retried) where retry.state == .unknown { count(.uncertain, by: changedCount) }
        try database.add(
            "UPDATE push SET state = $2, next_attempt_at = $3, reason = coalesce($4, reason) WHERE \(isOpenRow("$5"))",
            each: changes.releases.map { ($0.push, $0.state, $0.next, $0.reason?.rawValue, owner) })
    }

    /// Finishes open pushes of this server and erases their secrets. A finished push keeps its outcome.
    ///
    /// - Returns: How many were open.
    @discardableResult
    package func finish(_ pushes: [Int64], as outcome: PushOutcome, reason: PushReason?, at now: Timestamp) throws -> Int {
        try finish(pushes.map { (OutboxUpdate.Push(id: $0, .finish(outcome), reason: reason), outcome) }, at: now)
    }

    /// A push that was not sent keeps the words of its newest attempt, unless the change has others.
    @discardableResult
    private func finish(_ pushes: [(push: OutboxUpdate.Push, outcome: PushOutcome)], at now: Timestamp) throws -> Int {
        let finished = try database.run(
            """
            UPDATE push SET
                state = $2, finished_at = $3, reason = $4,
                words = CASE $2 WHEN \(PushOutcome.sent.rawValue) THEN NULL ELSE coalesce($5, words) END, secrets = NULL,
                attempts = coalesce($6, attempts), attempted_at = coalesce($7, attempted_at)
            WHERE \(isOpenRow("$8"))
            """,
            each: pushes.map { push, outcome in
                (push.id, outcome, now, push.reason?.rawValue, push.words, push.attempt?.count, push.attempt?.at, owner)
            })
        for (push, changedCount) in zip(pushes, finished) { count(push.outcome.milestone, by: changedCount) }
        return finished.reduce(0, +)
    }

    /// The condition that the push of the row `$1` is open and this server's.
    private func isOpenRow(_ owner: String) -> String { "id = $1 AND \(Database.dialect.isOpenRow) \(isOwned(owner))" }

    /// Ends the waiting pushes of a device that never worked.
    func expirePushes(to device: DeviceCode, route: String, reason: PushReason, at now: Timestamp) throws {
        // Without all trusts, SQLite would read the queue of the route.
        let changedCount = try database.run(
            """
            UPDATE push SET state = $1, finished_at = $2, reason = $3, secrets = NULL
            WHERE device = $4 AND \(Database.dialect.isOfDevice) AND route = $5
                AND trust IN (\(PushTrust.allCases.map { "\($0.rawValue)" }.joined(separator: ", ")))
                AND next_attempt_at < \(NextAttempt.held) \(isOwned("$6"))
            """,
            PushOutcome.expired, now, reason.rawValue, device, route, owner)
        count(.expired, by: changedCount)
    }

    /// Withdraws the waiting pushes to an unregistered installation. An attempt in flight ends without a trace.
    package func withdrawPushes(to target: Installation, at now: Timestamp) throws {
        let changedCount = try database.run(
            """
            UPDATE push SET state = $3, finished_at = $4, reason = $5, secrets = NULL
            WHERE \(Database.dialect.isOpenOfTarget)
            """,
            target.keyHash, target.installationID, PushOutcome.withdrawn, now, PushReason.unregistered.rawValue)
        count(.withdrawn, by: changedCount)
    }

    /// Records a delivery to a bundle id. After the first one, the open pushes to it leave the slots for unknown bundle ids.
    func addDeliveredBundleID(_ apnTopic: String, in route: String) throws {
        let isNew =
            try database.run("INSERT INTO delivered_topic (route, apn_topic) VALUES ($1, $2) ON CONFLICT DO NOTHING", route, apnTopic) == 1
        guard isNew else { return }
        loadedRoutes.forget()
        let devices = try database.all(
            """
            UPDATE push SET trust = \(PushTrust.unproven.rawValue), next_attempt_at = CASE
                WHEN reason = '\(PushReason.unprovenBundleID.rawValue)' AND next_attempt_at < \(NextAttempt.held) THEN \(NextAttempt.now)
                ELSE next_attempt_at END
            WHERE id IN (
                SELECT id FROM push
                WHERE \(Database.dialect.isWaiting) AND route = $1 AND trust = \(PushTrust.unknownBundleID.rawValue) AND apn_topic = $2
                    \(isOwned("$3")) \(Database.dialect.skippingLocked))
            RETURNING device
            """,
            route, apnTopic, owner
        ) { try $0.next(DeviceCode.self) }
        for device in devices { outbox.arrived(Arrivals.Device(device: device, trust: .unproven), in: route) }
    }

    /// Records deliveries to registrations. After the first one to a registration, the open pushes to it are those of a proven target.
    package func addDeliveries(to targets: [TargetRegistration], at now: Timestamp) throws {
        var first: [Installation] = []
        try database.run(
            """
            UPDATE registration SET
                first_delivered_at = coalesce(first_delivered_at, delivered_at, $1),
                delivered_at = CASE WHEN delivered_at > $1 THEN delivered_at ELSE $1 END
            WHERE id = $2 AND is_live AND version = $3 RETURNING key_hash, installation_id, first_delivered_at
            """,
            // Two servers lock them in the same order.
            each: targets.sorted { $0.row < $1.row }.map { (now, $0.row, $0.version) }
        ) { row in
            let installation = try row.nextInstallation()
            if try row.next(Timestamp.self) == now { first.append(installation) }
        }
        try database.add(
            """
            UPDATE push SET trust = \(PushTrust.proven.rawValue)
            WHERE \(Database.dialect.isOpenOfTarget) AND trust <> \(PushTrust.call.rawValue) \(isOwned("$3"))
            """,
            each: first.map { ($0.keyHash, $0.installationID, owner) })
    }
}
