import GRDB
package import Store

extension SQLiteStore {
    // An operator's command only reads, and a server may be running: a second connection writes between two transactions of the server.

    package func hold(_ holds: [RouteHold]) async throws { try Self.change(pool.path) { try $0.hold(holds) } }

    package func resume(_ routes: Set<String>) async throws -> [RouteHold] { try Self.change(pool.path) { try $0.resume(routes) } }
}
