import Bytes
import Envelope
import Foundation
import GRDB
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import SQLiteStore

/// A database that an earlier release made, in `Tests/Databases`.
struct EarlierRelease: Sendable, CustomTestStringConvertible {
    let testDescription: String
    private let file: String
    private let isPostgreSQL: Bool
    /// A time after the last event in the database, when its pushes have not expired.
    let later = Timestamp(nanoseconds: 1_795_905_000_000_000_000)

    /// - Parameter commit: The program that created the database.
    private init(_ commit: String, isPostgreSQL: Bool = false) {
        testDescription = "\(isPostgreSQL ? "PostgreSQL" : "SQLite"), \(commit)"
        file = isPostgreSQL ? commit + ".postgresql" : commit
        self.isPostgreSQL = isPostgreSQL
    }

    private static let (second, third) = ("6d75d3fc", "c58eeae8")
    /// Databases of 0.2.0.
    static let outdated = [EarlierRelease(second), EarlierRelease(second, isPostgreSQL: true)]
    /// Databases of 0.3.0.
    static let (sqlite, postgreSQL) = (EarlierRelease(third), EarlierRelease(third, isPostgreSQL: true))
    static let all = [sqlite, postgreSQL]

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Databases")

    /// The key that sealed the database, and before it one with which a rotation starts.
    func sealingKeys(rotatingTo newest: UInt8? = nil) throws -> SealingKeys? {
        let line = try String(contentsOf: Self.folder.appending(path: file + ".sealing.key"), encoding: .utf8)
        let digits = line.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? ""
        guard let key = FixedBytes<32>(Hex.decode(digits) ?? []) else { return nil }
        let first = (UInt8(1), SecretBytes(key))
        return SealingKeys((newest.map { [($0, SecretBytes(FixedBytes(repeating: $0)))] } ?? []) + [first])
    }

    /// Copies the database into a folder.
    func copy(to folder: TemporaryFolder) throws {
        guard isPostgreSQL else {
            return try Data(contentsOf: Self.folder.appending(path: file + ".sqlite")).write(to: URL(filePath: folder.database))
        }
        let connection = try Connection(folder.newPostgreSQL())
        let dump = try String(contentsOf: Self.folder.appending(path: file + ".sql"), encoding: .utf8)
        _ = try connection.run(dump.components(separatedBy: ";\n").filter { !$0.isEmpty }.map { Command($0) })
    }

    /// Reads the statements that a server of the release has sent.
    func statements() throws -> [String] {
        try String(contentsOf: Self.folder.appending(path: file + ".statements.sql"), encoding: .utf8).components(separatedBy: ";\n")
            .filter { !$0.isEmpty }
    }

    func open(_ folder: TemporaryFolder, _ keys: SealingKeys?) throws -> any PushStore & SealedStore {
        guard isPostgreSQL else { return try openSQLite(folder, keys) }
        let owner = try PostgreSQLStore.identity(of: folder.newPostgreSQL())
        return try folder.openPostgreSQL(identity: owner ?? identity, sealingKeys: keys)
    }

    func openSQLite(_ folder: TemporaryFolder, _ keys: SealingKeys?, readOnly: Bool = false) throws -> SQLiteStore {
        let owner = try SQLiteStore.identity(ofDatabaseAt: folder.database)
        return try folder.open(identity: owner ?? identity, sealingKeys: keys, readOnly: readOnly)
    }

    func execute(_ sql: String, _ folder: TemporaryFolder) throws {
        if isPostgreSQL {
            try TestPostgreSQL().run(sql, in: folder.databaseName)
        } else {
            try DatabaseQueue(path: folder.database).write { try $0.execute(sql: sql) }
        }
    }
}
