import Envelope
import Store
import Synchronization

/// The newest transaction that this process knows to be committed. If the database lacks it, the database has gone back in time: a standby
/// was promoted that had not received it, or a backup was restored.
final class NewestMark: Sendable {
    /// The time between two comparisons on a connection that stays.
    static let interval = Duration.seconds(60)
    /// The age up to which a mark proves something. Marks are pruned after a day.
    static let lifetime = Duration.seconds(23 * 3_600)

    private struct State {
        var newest: (mark: Transaction.Mark, at: Timestamp)?
        var nextComparison = Duration.zero
        var lost: LostTime?
    }

    private let state = Mutex(State())
    private let serverName: String
    private let time: SteadyTime

    /// - Parameter time: The clock between two comparisons.
    init(serverName: String = "", time: SteadyTime = SteadyTime(clock: ContinuousClock(), start: Timestamp(nanoseconds: 0))) {
        self.serverName = serverName
        self.time = time
    }

    /// Notes a commit.
    ///
    /// - Parameter time: When the transaction began, by the database's clock.
    func committed(_ mark: Transaction.Mark, at time: Timestamp) { state.withLock { $0.newest = (mark, time) } }

    /// - Throws: `StoreError.wentBack` once the database has gone back in time. Nothing that this process has in memory fits it any more.
    func check() throws(StoreError) {
        if let lost = state.withLock(\.lost) { throw .wentBack(lost) }
    }

    /// Whether a transaction has to compare first.
    func isDue(onNewConnection isNew: Bool) -> Bool {
        let now = time.elapsed()
        return state.withLock { $0.newest != nil && (isNew || $0.nextComparison <= now) }
    }

    enum Comparison: Equatable {
        /// The database is a standby that is not promoted yet, and proves nothing.
        case standby
        /// The mark is there, or too old to prove anything.
        case found
        case missing(LostTime)
    }

    /// Looks for the newest mark, in a transaction that has read nothing yet: it would not see marks that are committed later.
    func compare(in database: Transaction) throws -> Comparison {
        let next = time.elapsed() + Self.interval
        guard let (mark, committedAt) = state.withLock(\.newest) else { return .found }
        let found = try database.first(
            """
            SELECT pg_is_in_recovery(), EXISTS (SELECT FROM last_write WHERE writer = $1 AND sequence >= $2), \(Self.nanoseconds("now()")),
                coalesce((SELECT \(Self.nanoseconds("max(written_at)")) FROM last_write WHERE \(Self.nanoseconds("written_at")) <= $3), 0)
            """, mark.writer, mark.sequence, committedAt
        ) { row in
            (
                isStandby: try row.next(Bool.self), exists: try row.next(Bool.self), now: try row.next(Timestamp.self),
                newest: try row.next(Timestamp.self)
            )
        }
        if found?.isStandby == true { return .standby }
        guard let found, !found.exists, committedAt.duration(to: found.now) < Self.lifetime else {
            state.withLock { $0.nextComparison = next }
            return .found
        }
        return .missing(LostTime(start: min(found.newest, committedAt), end: committedAt, noticedAt: found.now))
    }

    /// Stores what is lost.
    func store(_ lost: LostTime, in database: Transaction) {
        database.add(
            "INSERT INTO lost_time (server_name, noticed_at, started_at, ended_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            serverName, lost.noticedAt, lost.start, lost.end)
    }

    /// The database has gone back in time: from now on, each transaction fails.
    func lose(_ lost: LostTime) { state.withLock { $0.lost = lost } }

    /// The SQL expression of a time as nanoseconds since 1970.
    static func nanoseconds(_ time: String) -> String { "(extract(epoch FROM \(time)) * 1000000)::int8 * 1000" }
}
