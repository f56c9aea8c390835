package import Envelope
package import Store

extension WriteTransaction {
    /// Each kind of change takes one statement.
    package func applyPushes(_ changes: ChangeOrder, at now: Timestamp) throws {
        record(changes.refusals)
        try finish(changes.outcomes, at: now)
        try retry(changes.retries)
        release(changes.releases)
    }

    /// Finishes open pushes of this server and erases their secrets. A finished push keeps its outcome.
    @discardableResult
    func finish(_ pushes: [(push: OutboxUpdate.Push, outcome: PushOutcome)], at now: Timestamp) throws -> Int {
        guard !pushes.isEmpty else { return 0 }
        let outcomes = try database.all(
            """
            UPDATE push SET
                state = change.state, finished_at = $1, reason = change.reason, secrets = NULL,
                words = CASE change.state WHEN \(PushOutcome.sent.rawValue) THEN NULL ELSE coalesce(change.words, push.words) END,
                attempts = coalesce(change.attempts, push.attempts), attempted_at = coalesce(change.attempted_at, push.attempted_at)
            FROM unnest($2::int8[], $3::int8[], $4::bytea[], $5::bytea[], $7::int8[], $8::int8[])
                AS change (id, state, reason, words, attempts, attempted_at)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$6")) RETURNING push.state
            """,
            now, SQLArray(pushes.map(\.push.id)), SQLArray(pushes.map(\.outcome)), SQLArray(pushes.map(\.push.reason?.rawValue)),
            SQLArray(pushes.map(\.push.words)), server, SQLArray(pushes.map(\.push.attempt?.count)),
            SQLArray(pushes.map(\.push.attempt?.at))
        ) { try $0.next(PushOutcome.self) }
        for outcome in outcomes { count(outcome.milestone) }
        return outcomes.count
    }

    private func record(_ refusals: [(push: Int64, new: PushRefusals)]) {
        guard !refusals.isEmpty else { return }
        database.add(
            """
            UPDATE push SET refused_at = change.refused_at, counted_refusals = change.counted, shortening = change.shortening
            FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[]) AS change (id, refused_at, counted, shortening)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$5"))
            """,
            SQLArray(refusals.map(\.push)), SQLArray(refusals.map(\.new.refusedAt)), SQLArray(refusals.map(\.new.countedCount)),
            SQLArray(refusals.map(\.new.shortening)), server)
    }

    private func retry(_ pushes: [(push: OutboxUpdate.Push, at: Timestamp, state: OpenPushState)]) throws {
        guard !pushes.isEmpty else { return }
        let attempts = pushes.map(\.push.attempt)
        let states = try database.all(
            """
            UPDATE push SET
                state = change.state, next_attempt_at = change.next_attempt_at, reason = change.reason, words = change.words,
                attempts = coalesce(change.attempts, push.attempts), attempted_at = coalesce(change.attempted_at, push.attempted_at),
                unanswered = coalesce(change.unanswered, push.unanswered),
                brought_forward = coalesce(change.brought_forward, push.brought_forward), broken = coalesce(change.broken, push.broken)
            FROM unnest(
                $1::int8[], $2::int8[], $3::int8[], $4::bytea[], $5::bytea[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[]
            ) AS change (id, state, next_attempt_at, reason, words, attempts, attempted_at, unanswered, brought_forward, broken)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$6")) RETURNING push.state
            """,
            SQLArray(pushes.map(\.push.id)), SQLArray(pushes.map(\.state)), SQLArray(pushes.map(\.at)),
            SQLArray(pushes.map(\.push.reason?.rawValue)), SQLArray(pushes.map(\.push.words)), server, SQLArray(attempts.map(\.?.count)),
            SQLArray(attempts.map(\.?.at)), SQLArray(attempts.map(\.?.uncertain.unansweredCount)),
            SQLArray(attempts.map(\.?.uncertain.broughtForwardCount)), SQLArray(attempts.map(\.?.uncertain.brokenCount))
        ) { try $0.next(OpenPushState.self) }
        count(.uncertain, by: states.count { $0 == .unknown })
    }

    private func release(_ pushes: [(push: Int64, state: OpenPushState, next: NextAttempt, reason: PushReason?)]) {
        guard !pushes.isEmpty else { return }
        database.add(
            """
            UPDATE push SET
                state = change.state, next_attempt_at = change.next_attempt_at, reason = coalesce(change.reason, push.reason)
            FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[]) AS change (id, state, next_attempt_at, reason)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$5"))
            """,
            SQLArray(pushes.map(\.push)), SQLArray(pushes.map(\.state)), SQLArray(pushes.map(\.next)),
            SQLArray(pushes.map(\.reason?.rawValue)), server)
    }

    /// The SQL condition that a push is open and belongs to the server of a parameter, for statements that name pushes by their rows.
    ///
    /// A plain conjunction would make the planner expect one such push, and compare each open push with each change.
    private static func isOpen(of server: String) -> String { "CASE WHEN \(OpenPushes.byRow) THEN push.server = \(server) ELSE false END" }
}
