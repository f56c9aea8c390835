package import Envelope
package import Store

extension WriteTransaction {
    /// Each kind of change takes one statement.
    package func applyPushes(_ changes: ChangeOrder, at now: Timestamp) throws {
        record(changes.refusals)
        try finish(changes.outcomes, at: now)
        try retry(changes.retries)
        release(changes.releases)
        postpone(changes.postponements)
        try lease(changes.leases, at: now)
    }

    /// A push with its outcome, the reason, and what Apple or Google said to the attempt that ended it.
    typealias FinishedPush = (push: Int64, outcome: PushOutcome, reason: PushReason?, words: String?)
    private typealias Retry = (push: Int64, at: Timestamp, state: OpenPushState, reason: PushReason?, words: String?)

    /// Finishes open pushes of this server and erases their secrets. A finished push keeps its outcome.
    func finish(_ pushes: [FinishedPush], at now: Timestamp) throws {
        guard !pushes.isEmpty else { return }
        let outcomes = try database.all(
            """
            UPDATE push SET
                state = change.state, finished_at = $1, reason = change.reason, secrets = NULL,
                words = CASE change.state WHEN \(PushOutcome.sent.rawValue) THEN NULL ELSE coalesce(change.words, push.words) END
            FROM unnest($2::int8[], $3::int8[], $4::bytea[], $5::bytea[]) AS change (id, state, reason, words)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$6")) RETURNING push.state
            """,
            now, SQLArray(pushes.map(\.push)), SQLArray(pushes.map(\.outcome)), SQLArray(pushes.map(\.reason?.rawValue)),
            SQLArray(pushes.map(\.words)), server
        ) { try $0.next(PushOutcome.self) }
        for outcome in outcomes { count(outcome.milestone) }
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

    private func retry(_ pushes: [Retry]) throws {
        guard !pushes.isEmpty else { return }
        let states = try database.all(
            """
            UPDATE push SET
                state = change.state, next_attempt_at = change.next_attempt_at, reason = change.reason, words = change.words
            FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[], $5::bytea[]) AS change (id, state, next_attempt_at, reason, words)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$6")) RETURNING push.state
            """,
            SQLArray(pushes.map(\.push)), SQLArray(pushes.map(\.state)), SQLArray(pushes.map(\.at)),
            SQLArray(pushes.map(\.reason?.rawValue)), SQLArray(pushes.map(\.words)), server
        ) { try $0.next(OpenPushState.self) }
        count(.uncertain, by: states.count { $0 == .unknown })
    }

    private func release(_ pushes: [(push: Int64, state: OpenPushState)]) {
        guard !pushes.isEmpty else { return }
        database.add(
            """
            UPDATE push SET state = change.state, next_attempt_at = \(NextAttempt.now), attempts = attempts - 1
            FROM unnest($1::int8[], $2::int8[]) AS change (id, state)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$3")) AND push.state = \(OpenPushState.leased.rawValue)
            """,
            SQLArray(pushes.map(\.push)), SQLArray(pushes.map(\.state)), server)
    }

    private func postpone(_ pushes: [(push: Int64, until: Timestamp, reason: PushReason?)]) {
        guard !pushes.isEmpty else { return }
        database.add(
            """
            UPDATE push SET next_attempt_at = change.next_attempt_at, reason = change.reason
            FROM unnest($1::int8[], $2::int8[], $3::bytea[]) AS change (id, next_attempt_at, reason)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$4")) AND push.state <> \(OpenPushState.leased.rawValue)
            """,
            SQLArray(pushes.map(\.push)), SQLArray(pushes.map(\.until)), SQLArray(pushes.map(\.reason?.rawValue)), server)
    }

    private func lease(_ pushes: [Int64], at now: Timestamp) throws {
        guard !pushes.isEmpty else { return }
        let ids = SQLArray(pushes)
        let leasedCount = try database.run(
            """
            UPDATE push SET
                state = \(OpenPushState.leased.rawValue), next_attempt_at = \(NextAttempt.held), attempts = attempts + 1, attempted_at = $1
            FROM unnest($2::int8[]) AS change (id)
            WHERE push.id = change.id AND \(Self.isOpen(of: "$3")) AND push.state <> \(OpenPushState.leased.rawValue)
            """,
            now, ids, server)
        guard leasedCount < pushes.count else { return }
        let endedCount = try database.count(
            "SELECT count(*) FROM push WHERE id = ANY($1) AND NOT (\(Self.isOpen(of: "$2")))", ids, server)
        throw leasedCount + endedCount == pushes.count ? StoreError.alreadyEnded : .damaged
    }

    /// The SQL condition that a push is open and belongs to the server of a parameter, for statements that name pushes by their rows.
    ///
    /// A plain conjunction would make the planner expect one such push, and compare each open push with each change.
    private static func isOpen(of server: String) -> String { "CASE WHEN \(OpenPushes.byRow) THEN push.server = \(server) ELSE false END" }
}
