import Bytes
import Foundation
import GRDB
import PushProtocol
import StatusCrypto

/// A status-go server's database, read from a private copy (STATUS_GO_DATABASE.md §2).
struct StatusGoDatabase: Sendable {
    /// Registrations of up to a megabyte each are in memory together.
    private static let registrationPageCount = 250
    /// So many ids fit into a single transaction of the store.
    private static let requestPageCount = 5_000

    private let queue: DatabaseQueue
    /// The path that the operator knows.
    private let name: String

    /// - Parameters:
    ///   - path: The copy. SQLite completes or reverts the transactions in the files next to it.
    ///   - name: The original's path, for error messages.
    init(copy path: String, of name: String) throws(Failure) {
        self.name = name
        do {
            queue = try DatabaseQueue(path: path, configuration: UntrustedDatabase.configuration)
        } catch {
            throw Self.unreadable(name, error)
        }
    }

    func close() { try? queue.close() }

    /// A page of rows, with the number of its last row, after which the next page starts.
    struct Page<Element: Sendable>: Sendable {
        var elements: [Element]
        var lastRow: Int64
    }

    /// Counts the registrations, tombstones included.
    ///
    /// - Throws: ``Failure`` when the table does not exist, because the database is not status-go's.
    func installationCount() async throws -> Int {
        try await read { database in
            guard try database.tableExists("push_notification_server_registrations") else {
                throw Failure.configuration("\(name) has no table push_notification_server_registrations: it is no database of status-go.")
            }
            return try Int.fetchOne(database, sql: "SELECT count(*) FROM push_notification_server_registrations") ?? 0
        }
    }

    /// Reads registrations in the order in which they were last stored.
    ///
    /// - Returns: The page, or nil at the end.
    func installations(after row: Int64) async throws -> Page<ForeignInstallation>? {
        try await page(
            """
            SELECT rowid, public_key, installation_id, version, registration FROM push_notification_server_registrations
            WHERE rowid > ? ORDER BY rowid LIMIT \(Self.registrationPageCount)
            """, after: row
        ) { row in
            ForeignInstallation(
                keyHash: row.bytes("public_key") ?? [], installationID: row.text("installation_id") ?? "",
                version: row.integer("version") ?? 0, registration: row.bytes("registration"))
        }
    }

    /// Finds the newest handled requests.
    ///
    /// - Returns: The number of all handled requests, and the row that precedes the newest `count`.
    func handledRequests(newest count: Int) async throws -> (total: Int, before: Int64) {
        try await read { database in
            // Release 0.56 doesn't have this table.
            guard try database.tableExists("push_notification_server_notifications") else { return (0, 0) }
            let total = try Int.fetchOne(database, sql: "SELECT count(*) FROM push_notification_server_notifications") ?? 0
            let before = try Int64.fetchOne(
                database, sql: "SELECT rowid FROM push_notification_server_notifications ORDER BY rowid DESC LIMIT 1 OFFSET ?",
                arguments: [count])
            return (total, before ?? .min)
        }
    }

    /// Reads the Status message ids of handled requests, oldest first. An id of another length is nil.
    ///
    /// - Returns: The page, or nil at the end.
    func handledRequests(after row: Int64) async throws -> Page<Digest32?>? {
        try await page(
            """
            SELECT rowid, id FROM push_notification_server_notifications WHERE rowid > ? ORDER BY rowid LIMIT \(Self.requestPageCount)
            """, after: row
        ) { row in row.bytes("id").flatMap { Digest32($0) } }
    }

    /// Reads the evidence of whose server it is.
    func identityEvidence() async throws -> IdentityEvidence {
        try await read { database in
            var evidence = IdentityEvidence()
            if try database.tableExists("bundles") {
                evidence.bundleKeys = try Row.fetchAll(database, sql: "SELECT DISTINCT identity FROM bundles WHERE private_key IS NOT NULL")
                    .compactMap { $0.bytes("identity") }
            }
            for table in ["wakuv2_keys", "waku_keys"] where try database.tableExists(table) {
                evidence.contactCodes += try Row.fetchAll(
                    database, sql: "SELECT chat_id FROM \(table) WHERE chat_id LIKE '0x%-contact-code'"
                ).compactMap { $0.text("chat_id") }
            }
            if try database.tableExists("push_notification_server_identity") {
                evidence.storedKeys = try Row.fetchAll(database, sql: "SELECT private_key FROM push_notification_server_identity")
                    .compactMap { $0.bytes("private_key") }
            }
            return evidence
        }
    }

    private func page<Value: Sendable>(
        _ sql: String, after row: Int64, read value: @escaping @Sendable (Row) -> Value
    ) async throws -> Page<Value>? {
        try await read { database in
            let rows = try Row.fetchAll(database, sql: sql, arguments: [row])
            guard let last = rows.last?.integer("rowid") else { return nil }
            return Page(elements: rows.map(value), lastRow: last)
        }
    }

    private func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await queue.read(body)
        } catch let error as DatabaseError {
            throw Self.unreadable(name, error)
        }
    }

    private static func unreadable(_ name: String, _ error: any Error) -> Failure {
        .failed("\(name) cannot be read: \((error as? DatabaseError)?.message ?? error.localizedDescription)")
    }
}

/// SQLite's values have their own types, regardless of what the column declares.
extension Row {
    /// A blob's or a text's bytes, or nil for any other value.
    fileprivate func bytes(_ column: String) -> [UInt8]? {
        switch (self[column] as DatabaseValue).storage {
        case .blob(let data): [UInt8](data)
        case .string(let text): Array(text.utf8)
        case .null, .int64, .double: nil
        }
    }

    fileprivate func text(_ column: String) -> String? {
        if case .string(let text) = (self[column] as DatabaseValue).storage { text } else { nil }
    }

    fileprivate func integer(_ column: String) -> Int64? {
        if case .int64(let number) = (self[column] as DatabaseValue).storage { number } else { nil }
    }
}
