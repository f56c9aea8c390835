import Store

/// How long a statement of a server waits for a row that another session of the database holds.
///
/// A person may leave a transaction open for hours. What needs its rows fails soon and waits elsewhere, so that it delays nothing else.
enum LockLimit {
    /// The servers of a database hold the rows of a batch for a tenth of a second, and longer on a busy disk.
    static let batch = Command("SET lock_timeout = '500ms'")
    /// For a transaction that searches a failed batch for the row. Each half of a batch of 500 may take that long.
    static let part = Command("SET LOCAL lock_timeout = '50ms'")

    /// Between two looks for a row that is held. Another server's transaction has ended by then, or the second look finds the next one.
    static let heldInterval = Duration.milliseconds(50)
    /// For a transaction that waits so that PostgreSQL tells who holds a row.
    static let look = Command("SET LOCAL lock_timeout = '200ms'")
    /// How long the sessions that hold rows are not looked for again.
    static let holderInterval = Duration.seconds(60)
    /// The time after which a transaction of this program has met the lock and waits for it.
    static let holderDelay = Command("SELECT pg_sleep(0.1)")
    /// The session for which a transaction of this program waits. PostgreSQL shows the state and time to sessions of the same role.
    static let holder = Command(
        """
        SELECT convert_to(concat(
            application_name, ' of ', usename, ' (process ', pid, ' of PostgreSQL', ', ' || state,
            ', in a transaction since ' || to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', ')'), 'UTF8')
        FROM pg_stat_activity
        WHERE pid IN (
            SELECT unnest(pg_blocking_pids(pid)) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database() AND application_name = current_setting('application_name'))
            AND datname = current_database()
        ORDER BY xact_start LIMIT 1
        """)
}
