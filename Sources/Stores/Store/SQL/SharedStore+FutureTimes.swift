package import Envelope

/// A table whose times a clock that was ahead can have left in the future.
package struct TableOfTimes: Sendable {
    package let name: String
    /// The column that finds a row again.
    let key: String
    /// Whether the keys are the numbers of the rows, of which there can be millions.
    let isNumbered: Bool
    /// The columns with times of past events.
    package let past: [String]
    /// The columns with deadlines, and the greatest length of each.
    package let deadlines: [String: Duration]

    private init(
        _ name: String, by key: String = "id", isNumbered: Bool = false, past: [String] = [], deadlines: [String: Duration] = [:]
    ) {
        (self.name, self.key, self.isNumbered, self.past, self.deadlines) = (name, key, isNumbered, past, deadlines)
    }

    // Not here: what senders and users' sessions say, the clock itself, the times of holes and checkpoints, which the history of a node
    // compares with the present, and those of attempts, which follow the monotonic clock.
    package static func all(_ dialect: SQLDialect) -> [Self] {
        [
            Self("message", isNumbered: true, past: ["received_at", "decided_at"]),
            Self("push", isNumbered: true, past: ["accepted_at", "refused_at", "finished_at"]),
            Self("registration", isNumbered: true, past: ["updated_at", "delivered_at", "first_delivered_at"]),
            Self("suspect_token", by: "token_digest", past: ["suspected_at", "tried_at", "first_counted_at"]),
            Self("proven_token", by: "token_digest", past: ["delivered_at", "first_delivered_at"]),
            Self("dead_registration", past: ["died_at"]),
            Self("route_hold", by: "route", past: ["started_at"], deadlines: ["ends_at": RouteHold.maximumLength]),
            Self("nextcloud_device", by: dialect.proxyDeviceRow, past: ["created_at", "updated_at", "used_at", "removed_at"]),
            Self("nextcloud_origin_device", past: ["created_at"]),
            Self("nextcloud_origin_push", deadlines: ["expires_at": OriginPush.lifetime]),
        ]
    }

    // In the statements, $1 is the present.

    /// The condition for rows with such a time.
    fileprivate var isAhead: String { bounds.map { "\($0.column) > \($0.latest)" }.joined(separator: " OR ") }

    fileprivate var assignments: String {
        bounds.map { "\($0.column) = CASE WHEN \($0.column) > \($0.latest) THEN \($0.bound) ELSE \($0.column) END" }
            .joined(separator: ", ")
    }

    private var bounds: [(column: String, bound: String, latest: String)] {
        func ahead(_ duration: Duration) -> String { "$1 + \(Timestamp(nanoseconds: 0).advanced(by: duration).nanoseconds)" }
        return past.map { ($0, "$1", ahead(Timestamp.pastTolerance)) }
            + deadlines.map { ($0.key, ahead($0.value), ahead($0.value + Timestamp.pastTolerance)) }
    }
}

extension SharedStore {
    /// How many numbers of rows a transaction takes together, in a few milliseconds of the writer.
    private static var portion: Int64 { 1_000 }

    // The rows are searched beside the writer, because almost always there are none.
    package func setBackFutureTimes(at now: Timestamp) async throws -> Int {
        try await forgetFutureDays(at: now)
        var count = 0
        for table in TableOfTimes.all(Reading.dialect) {
            guard table.isNumbered else {
                let isNeeded = try await reading { try $0.count("SELECT count(*) FROM \(table.name) WHERE \(table.isAhead)", now) > 0 }
                if isNeeded { count += try await writing { try $0.setBack(table, at: now) } }
                continue
            }
            let rows = try await reading { database in
                try database.first("SELECT min(id), max(id) FROM \(table.name) WHERE \(table.isAhead)", now) { row in
                    (first: try row.next(Int64?.self), last: try row.next(Int64?.self))
                }
            }
            guard let first = rows?.first, let last = rows?.last else { continue }
            for start in stride(from: first, through: last, by: Int(Self.portion)) {
                count += try await writing { try $0.setBack(table, rows: start...start + (Self.portion - 1), at: now) }
            }
        }
        return count
    }

    /// Forgets the delivering days of the future. If the clock is behind, all rows are set back to its time, and would be unused once it is
    /// right again: their lifetime is counted in days that come then, and in those before this one.
    private func forgetFutureDays(at now: Timestamp) async throws {
        let today = DeliveringDays.day(of: now.latestPast)
        guard try await reading({ try $0.count("SELECT count(*) FROM delivering_day WHERE day > $1", today) > 0 }) else { return }
        try await writing { try $0.database.add("DELETE FROM delivering_day WHERE day > $1", today) }
    }
}

extension SharedWriteTransaction {
    fileprivate func setBack(_ table: TableOfTimes, at now: Timestamp) throws -> Int {
        try database.run(update(table), now)
    }

    fileprivate func setBack(_ table: TableOfTimes, rows: ClosedRange<Int64>, at now: Timestamp) throws -> Int {
        try database.run(update(table, "AND id BETWEEN $2 AND $3"), now, rows.lowerBound, rows.upperBound)
    }

    private func update(_ table: TableOfTimes, _ condition: String = "") -> String {
        """
        UPDATE \(table.name) SET \(table.assignments) WHERE \(table.key) IN (
            SELECT \(table.key) FROM \(table.name) WHERE (\(table.isAhead)) \(condition) \(Database.dialect.skippingLocked))
        """
    }
}
