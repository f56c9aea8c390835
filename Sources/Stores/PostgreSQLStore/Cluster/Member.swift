import Store

/// This server as a member of the cluster.
struct Member: Sendable {
    /// The name among the servers.
    let name: String
    /// A random text that a machine keeps. Under the same name, it tells this server's predecessor from a server of another machine. It is
    /// empty without a folder to keep it in. Such a server counts as predecessor.
    let part: String
    /// The version of the program.
    let version: String

    /// Joins under a new number, and fences the earlier process of this name and part.
    ///
    /// - Throws: `StoreError.locked` if an operator's command copies or changes the database, `nameTaken` if a server of another machine
    ///   has the name.
    func join(_ database: Transaction) throws -> Int64 {
        try OperatorLock.exclude(by: database)
        database.add(LockLimit.batch)
        let others = try database.count(
            """
            SELECT count(*) FROM server
            WHERE name = $1 AND part NOT IN ($2, '') AND $2 <> '' AND NOT is_fenced AND lease_ends > now()
            """, name, part)
        guard others == 0 else { throw StoreError.nameTaken(name: name) }
        database.add("UPDATE server SET is_fenced = true WHERE name = $1 AND NOT is_fenced", name)
        let number = try database.first(
            "INSERT INTO server (name, part, version, lease_ends) VALUES ($1, $2, $3, now() + \(Self.lease)) RETURNING number", name, part,
            version
        ) { try $0.next(Int64.self) }
        guard let number else { throw StoreError.damaged }
        return number
    }

    /// Returns whether another process of this name and part has joined since a number.
    func isReplaced(since number: Int64, _ database: Transaction) throws -> Bool {
        let successors = "SELECT count(*) FROM server WHERE name = $1 AND part = $2 AND number > $3 AND NOT is_fenced"
        return try database.count(successors, name, part, number) > 0
    }

    /// Adds a fenced member, whose work the next server takes over. It is remembered for a year, in which a server has to start.
    func joinFenced(_ database: Transaction) throws -> Int64 {
        let number = try database.first(
            "INSERT INTO server (name, version, lease_ends, is_fenced) VALUES ($1, $2, now() + interval '1 year', true) RETURNING number",
            name, version
        ) { try $0.next(Int64.self) }
        guard let number else { throw StoreError.damaged }
        return number
    }

    // The limits as SQL.

    static let lease = interval(ClusterLimits.lease)
    static let livingTime = interval(ClusterLimits.livingTime)
    static let takingTime = interval(ClusterLimits.takingTime)
    static let passingTime = interval(ClusterLimits.passingTime)
    static let fencedMemory = interval(ClusterLimits.fencedMemory)
    /// Each job runs once a minute.
    static let jobLease = interval(.seconds(180))

    private static func interval(_ duration: Duration) -> String {
        "interval '\(Int64(duration / .milliseconds(1))) ms'"
    }
}
