import Bytes
import Foundation
import GRDB
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A kind of store that seals its secrets, with access to its database for tests.
struct SealableStore: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Opens the database that belongs to a folder.
    let open: @Sendable (TemporaryFolder, SealingKeys?) throws -> any PushStore & ProxyStore & OriginStore
    /// Returns the locations of secrets in plaintext in the database.
    let find: @Sendable (_ secrets: [String], TemporaryFolder) throws -> [String]
    let execute: @Sendable (_ sql: String, TemporaryFolder) throws -> Void

    /// Returns a blob in SQL.
    func blob(_ digits: String) -> String { testDescription == "SQLite" ? "x'\(digits)'" : "'\\x\(digits)'" }

    static let all = [
        SealableStore(testDescription: "SQLite") {
            try $0.open(sealingKeys: $1)
        } find: { secrets, folder in
            // Search all files: they may have pages and logs with old content.
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path()).flatMap { name in
                let content = try Data(contentsOf: folder.url.appending(path: name))
                return secrets.compactMap { content.firstRange(of: Data($0.utf8)) == nil ? nil : "\(name): \($0)" }
            }
        } execute: { sql, folder in
            try DatabaseQueue(path: folder.database).write { try $0.execute(sql: sql) }
        },
        SealableStore(testDescription: "PostgreSQL") {
            try $0.openPostgreSQL(sealingKeys: $1)
        } find: { secrets, folder in
            // Search all rows. PostgreSQL's files still contain old versions of rows until it removes them.
            let server = try TestPostgreSQL()
            let tables = try server.run(
                "SELECT convert_to(tablename, 'UTF8') FROM pg_tables WHERE schemaname = 'public' ORDER BY 1", in: folder.databaseName
            ).map { try $0.next(String.self) }
            return try tables.flatMap { table in
                try secrets.filter { secret in
                    let digits = secret.utf8.map { String(format: "%02x", $0) }.joined()
                    let rows = try server.run(
                        "SELECT true FROM \(table) AS row WHERE row::text LIKE '%\(digits)%'", in: folder.databaseName)
                    return rows.count > 0
                }.map { "\(table): \($0)" }
            }
        } execute: { sql, folder in
            try TestPostgreSQL().run(sql, in: folder.databaseName)
        },
    ]
}
