import Foundation
import PostgreSQLStore
import SQLiteStore
import ServerFiles
import Store

/// What was copied from a server's database into a different kind of database.
package struct MigrationReport: Report {
    private struct Table: Encodable {
        var name: String
        var rows: Int
    }

    private let from: String
    private let to: String
    /// Nil if an earlier run has copied them.
    private let tables: [Table]?

    package var lines: [String] {
        guard let tables else {
            return ["\(from) was copied to \(to) before, and is marked as moved. Name the new database in the server's configuration."]
        }
        return ["copied \(from) to \(to)"]
            + tables.map { "\($0.name): \($0.rows) \($0.rows == 1 ? "row" : "rows")" }
            + [
                "The numbers of rows and the audits of both databases are equal. \(from) is marked as moved, so that no server starts "
                    + "on it. Name the new database in the server's configuration."
            ]
    }

    /// Copies all rows, marks the source as moved, and completes the destination. No server may run on either database, and the destination
    /// must be new. A copy that was interrupted begins again, and one that was interrupted at its end is finished.
    ///
    /// - Throws: ``Failure``. The destination then doesn't have an identity, or stays an empty file.
    package init(from source: ServerDatabase, to destination: ServerDatabase, report: @escaping Progress.Report) async throws {
        (from, to) = (source.name, destination.name)
        let sourceKind = try source.location()
        let target = try destination.location()
        let copy: () async throws -> [String: Int]
        switch (sourceKind, target) {
        case (.sqlite, .postgresql(let location, _)):
            copy = {
                try await source.move { store, mark in
                    let parameters = target.commandConnection
                    return try await Self.explaining(location.url) {
                        try await Self.fill(parameters, location.url, from: store, marking: { try await mark(location.url) }, report)
                    }
                }
            }
        case (.postgresql, .sqlite(let path)):
            copy = {
                try await source.move { store, mark in
                    try await Self.explaining(path) {
                        try await Self.fill(fileAt: path, from: store, marking: { try await mark(path) }, report)
                    }
                }
            }
        case (.sqlite, .sqlite):
            throw Failure.usage("Both databases are files. Copy the file with pushctl backup.")
        case (.postgresql, .postgresql):
            throw Failure.usage("Both databases are in PostgreSQL. Copy the database with PostgreSQL's own tools, such as pg_dump.")
        }
        if try source.movedPlace() == to {
            guard try !destination.isInUse() else {
                tables = nil
                return
            }
            try source.liftMark()
        }
        let rows = try await copy()
        tables = CopiedTable.all.map { Table(name: $0.name, rows: rows[$0.name, default: 0]) }
    }

    private static func fill(
        _ parameters: [String: String], _ url: String, from source: any CopyableStore, marking: () async throws -> Void,
        _ report: @escaping Progress.Report
    ) async throws -> [String: Int] {
        let lock = try OperatorLock(parameters)
        defer { withExtendedLifetime(lock) {} }
        let destination: PostgreSQLStore
        do {
            destination = try PostgreSQLStore(copyingTo: parameters, logger: ServerDatabase.silentLogger)
        } catch .otherIdentity {
            throw Failure.configuration("\(url) is the database of a server already. Name a new database with --to.")
        }
        return try await copy(source, to: destination, marking: marking, report)
    }

    private static func fill(
        fileAt path: String, from source: any CopyableStore, marking: () async throws -> Void, _ report: @escaping Progress.Report
    ) async throws -> [String: Int] {
        let identity = try await source.copiedDatabase().identity
        try FolderOwner.become(for: path)
        try PreparedFile.checkThatPlaceIsFree(path)
        // The lock prevents a server from starting on the database meanwhile.
        let lock = try InstanceLock(database: path, replaces: true)
        defer { withExtendedLifetime(lock) {} }
        PlainCopyFolder.removeLeftovers(besideDatabase: path)
        let folder = try PlainCopyFolder(besideDatabase: path)
        defer { folder.remove() }
        let file = PreparedFile("migrated.sqlite", in: folder, for: path)
        let destination = try SQLiteStore(
            path: file.path, identity: identity, sealingKeys: nil, isCopy: true, logger: ServerDatabase.silentLogger)
        let rows = try await copy(source, to: destination, marking: marking, report)
        try FolderOwner.give(file.path)
        try file.moveIntoPlace()
        return rows
    }

    /// - Returns: The row count per table.
    private static func copy(
        _ source: any CopyableStore, to destination: any CopyableStore & PushStore, marking: () async throws -> Void,
        _ report: Progress.Report
    ) async throws -> [String: Int] {
        do {
            let rows = try await StoreCopy.run(from: source, to: destination, beforeCompleting: marking) { table, done, total in
                report(Progress(step: "copying \(table)", done: done, total: total, unit: .rows))
            }
            await destination.close()
            return rows
        } catch {
            await destination.close()
            throw error
        }
    }

    /// Names the destination in its errors. The source's errors already contain its name.
    private static func explaining<Result>(_ name: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as CopyDifference {
            throw Failure.failed("The copy is incomplete: \(error.description). Try again.")
        } catch let error as StoreError where error != .sealingKeyMissing {
            throw Failure(error, database: name)
        }
    }
}
