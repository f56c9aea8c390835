import Bytes
package import PostgreSQLStore

/// A server's database.
package enum DatabaseLocation: HoldsSecret, Sendable {
    /// A file, for a single server.
    case sqlite(path: String)
    /// A database that several servers may share.
    case postgresql(PostgreSQLLocation, password: String?)

    /// The database for an operator.
    package var name: String {
        switch self {
        case .sqlite(let path): path
        case .postgresql(let location, _): location.url
        }
    }

    package var isPostgreSQL: Bool { if case .postgresql = self { true } else { false } }
}
