import Wire

/// The assignments of pushes to routes, and the bundle ids to which pushes were delivered.
package struct RouteTable {
    private struct Key: Hashable {
        var tokenType: TokenType
        var apnTopic: String
    }

    private struct BundleID: Hashable {
        var route: String
        var apnTopic: String
    }

    private var names: [Key: String] = [:]
    private var delivered: Set<BundleID> = []

    fileprivate init(_ database: some SQLDatabase) throws {
        try database.forEach(
            """
            SELECT token_type, apn_topic, name FROM route
            UNION ALL SELECT \(Self.delivery.rawValue), apn_topic, route FROM delivered_topic
            """
        ) { row in
            let (type, apnTopic, route): (TokenType, String, String) = (try row.next(), try row.next(), try row.next())
            if type == Self.delivery {
                delivered.insert(BundleID(route: route, apnTopic: apnTopic))
            } else {
                names[Key(tokenType: type, apnTopic: apnTopic)] = route
            }
        }
    }

    /// Stands for the token type in a row about a delivery.
    private static let delivery = TokenType(rawValue: -1)

    /// The SQL expression for the name of an open push's route. The empty string if no assignment matches.
    package static let assigned = """
        coalesce(
            (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = push.apn_topic),
            (SELECT name FROM route WHERE route.token_type = push.token_type AND route.apn_topic = ''), '')
        """

    /// Returns a push's route. The empty string if no assignment matches.
    func route(of tokenType: TokenType, apnTopic: String) -> String {
        names[Key(tokenType: tokenType, apnTopic: apnTopic)] ?? names[Key(tokenType: tokenType, apnTopic: "")] ?? ""
    }

    /// Returns whether a setting names the bundle id, or a push to it was delivered.
    func isKnown(_ apnTopic: String, in route: String) -> Bool {
        delivered.contains(BundleID(route: route, apnTopic: apnTopic))
            || !apnTopic.isEmpty && names[Key(tokenType: .apn, apnTopic: apnTopic)] != nil
    }
}

/// The routes that a transaction has read, or nil. SQLite commits several jobs in one.
package final class LoadedRoutes {
    fileprivate var table: RouteTable?

    package init() {}

    /// They have changed.
    func forget() { table = nil }
}

extension SharedWriteTransaction {
    /// Returns the routes. A transaction reads them once.
    func routes() throws -> RouteTable {
        if let table = loadedRoutes.table { return table }
        try lockRoutes()
        let table = try RouteTable(database)
        loadedRoutes.table = table
        return table
    }
}
