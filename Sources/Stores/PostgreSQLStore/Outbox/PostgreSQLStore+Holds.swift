package import Store

extension PostgreSQLStore {
    package func hold(_ holds: [RouteHold]) async throws { try await write { try $0.database.hold(holds) } }

    package func resume(_ routes: Set<String>) async throws -> [RouteHold] { try await write { try $0.database.resume(routes) } }
}
