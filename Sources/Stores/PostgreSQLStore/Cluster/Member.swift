import Store

/// This server as a member of the cluster.
struct Member: Sendable {
    /// The name among the servers. Two processes with one name are one server: the later one fences the earlier.
    let name: String
    /// The version of the program.
    let version: String

    /// Joins under a new number, and fences the earlier process of this name.
    ///
    /// - Throws: `StoreError.locked` if an operator's command copies or changes the database.
    func join(_ database: Transaction) throws -> Int64 {
        try OperatorLock.exclude(by: database)
        database.add("UPDATE server SET is_fenced = true WHERE name = $1 AND NOT is_fenced", name)
        let number = try database.first(
            "INSERT INTO server (name, version, lease_ends) VALUES ($1, $2, now() + \(Self.lease)) RETURNING number", name, version
        ) { try $0.next(Int64.self) }
        guard let number else { throw StoreError.damaged }
        return number
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
