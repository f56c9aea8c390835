extension SharedStore {
    package func routeHolds() async throws -> [RouteHold] { try await reading { try $0.routeHolds() } }

    package func end(_ hold: RouteHold) async throws {
        try await writing { try $0.database.end(hold) }
    }
}

extension SQLDatabase {
    fileprivate func routeHolds() throws -> [RouteHold] {
        try all("SELECT route, started_at, ends_at FROM route_hold ORDER BY route") { row in
            RouteHold(route: try row.next(), start: try row.next(), end: try row.next())
        }
    }

    fileprivate func end(_ hold: RouteHold) throws {
        try add("DELETE FROM route_hold WHERE route = $1 AND started_at = $2 AND ends_at = $3", hold.route, hold.start, hold.end)
    }

    /// Holds routes, in place of earlier holds of them.
    package func hold(_ holds: [RouteHold]) throws {
        for hold in holds {
            try add(
                """
                INSERT INTO route_hold (route, started_at, ends_at) VALUES ($1, $2, $3)
                ON CONFLICT (route) DO UPDATE SET started_at = excluded.started_at, ends_at = excluded.ends_at
                """,
                hold.route, hold.start, hold.end)
        }
    }

    /// Ends the holds of routes.
    ///
    /// - Returns: The holds that there were.
    package func resume(_ routes: Set<String>) throws -> [RouteHold] {
        let holds = try routeHolds().filter { routes.contains($0.route) }
        for hold in holds { try end(hold) }
        return holds
    }
}
