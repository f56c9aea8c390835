import Envelope
import Store
import Synchronization

/// The newest transaction of each connection that this process knows to be committed. If the database lacks one, the database has gone
/// back in time: a standby was promoted that had not received it, or a backup was restored. The newest of all would not do, because
/// transactions are not acknowledged in the order of their commits.
final class NewestMark: Sendable {
    /// The time between two comparisons on a connection that stays.
    static let interval = Duration.seconds(60)
    /// The age up to which a mark proves something. Marks are pruned after a day.
    static let lifetime = Duration.seconds(23 * 3_600)
    /// Transactions that began so much earlier than the newest one were acknowledged before it. PostgreSQL may have pruned an older mark
    /// whose connection was idle while its clock was ahead.
    private static let disorder = Duration.seconds(600)

    private struct State {
        var newest: [ObjectIdentifier: (mark: Transaction.Mark, at: Timestamp)] = [:]
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
    /// - Parameters:
    ///   - time: When the transaction began, by the database's clock.
    ///   - slot: The connection, whose commits come one after the other.
    func committed(_ mark: Transaction.Mark, at time: Timestamp, on slot: ConnectionSlot) {
        state.withLock { state in
            state.newest[ObjectIdentifier(slot)] = (mark, time)
            state.newest = state.newest.filter { $0.value.at.duration(to: time) < Self.disorder }
        }
    }

    /// - Throws: `StoreError.wentBack` once the database has gone back in time. Nothing that this process has in memory fits it any more.
    func check() throws(StoreError) {
        if let lost = state.withLock(\.lost) { throw .wentBack(lost) }
    }

    /// Whether a transaction has to compare first.
    func isDue(onNewConnection isNew: Bool) -> Bool {
        let now = time.elapsed()
        return state.withLock { !$0.newest.isEmpty && (isNew || $0.nextComparison <= now) }
    }

    enum Comparison: Equatable {
        /// The database is a standby that is not promoted yet, and proves nothing.
        case standby
        /// The marks are there, or too old to prove anything.
        case found
        case missing(LostTime)
    }

    /// Looks for the newest marks, in a transaction that has read nothing yet: it would not see marks that are committed later.
    func compare(in database: Transaction) throws -> Comparison {
        let next = time.elapsed() + Self.interval
        let newest = Array(state.withLock(\.newest).values)
        let found = try database.first(
            """
            WITH missing AS (
                SELECT min(at) AS first, max(at) AS last FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS mark (writer, sequence, at)
                WHERE NOT EXISTS (SELECT FROM last_write WHERE writer = mark.writer AND sequence >= mark.sequence))
            SELECT pg_is_in_recovery(), \(Self.nanoseconds("now()")), last,
                (SELECT \(Self.nanoseconds("max(written_at)")) FROM last_write WHERE \(Self.nanoseconds("written_at")) <= first)
            FROM missing
            """, SQLArray(newest.map(\.mark.writer)), SQLArray(newest.map(\.mark.sequence)), SQLArray(newest.map(\.at.nanoseconds))
        ) { row in
            (
                isStandby: try row.next(Bool.self), now: try row.next(Timestamp.self), missing: try row.next(Timestamp?.self),
                newest: try row.next(Timestamp?.self)
            )
        }
        if found?.isStandby == true { return .standby }
        guard let found, let end = found.missing, end.duration(to: found.now) < Self.lifetime else {
            state.withLock { $0.nextComparison = next }
            return .found
        }
        return .missing(LostTime(start: found.newest ?? Timestamp(nanoseconds: 0), end: end, noticedAt: found.now))
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
