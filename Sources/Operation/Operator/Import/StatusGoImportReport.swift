import Bytes
import Envelope
import Foundation
import PushProtocol
import SQLiteStore
import ServerCrypto
package import ServerFiles
import StatusCrypto
import Store

/// What was taken over from a status-go server.
package struct StatusGoImportReport: Report {
    private struct Count: Encodable {
        var reason: String
        var count: Int
    }

    private enum CodingKeys: CodingKey {
        case database, registrations, exceptions, unregistered, tombstones, skipped, requests, skippedRequests, keyFile, hasInstalledKey
    }

    private let database: String
    private let keyFile: String
    private let hasInstalledKey: Bool
    private let counts: ImportCounts

    /// Takes over a status-go server's rows, as the database for a server that doesn't have a database yet.
    ///
    /// The database is written next to its path and moved there when it is complete. A server never sees an incomplete database, and a
    /// killed import begins again. The key file is installed last: without it, a server refuses to start on a database with an identity.
    ///
    /// - Parameters:
    ///   - source: The other server's database, as a path. It stays as it is.
    ///   - givenKeyFile: The file with the other server's private key.
    ///   - paths: The files of this server. The key file must contain the same key, or not exist.
    /// - Throws: ``Failure``.
    package init(
        importing source: String, givenKeyFile: String, to paths: ServerPaths, report: @escaping Progress.Report
    ) async throws {
        guard let key = try Self.key(givenKeyFile) else { throw Failure.configuration("There is no key file \(givenKeyFile).") }
        let configured = try Self.key(paths.keyFile)
        guard configured == nil || configured?.publicKey == key.publicKey else {
            throw Failure.configuration(
                """
                \(paths.keyFile) holds another key than \(givenKeyFile), and clients know the server by that of \(givenKeyFile). Move \
                \(paths.keyFile) away, or name another path with identity.keyFile in the server's configuration (--config).
                """)
        }
        let files = try SourceFiles(path: source)
        // The rest runs as the user who owns the database's folder.
        try FolderOwner.become(for: paths.database)
        if configured == nil { try Self.checkThatKeyCanBeInstalled(at: paths.keyFile) }
        try PreparedFile.checkThatPlaceIsFree(paths.database)
        do {
            // The lock prevents a server from starting on the database meanwhile.
            let lock = try InstanceLock(database: paths.database, replaces: true)
            defer { lock.removeEmptyFile() }
            PlainCopyFolder.removeLeftovers(besideDatabase: paths.database)
            let folder = try PlainCopyFolder(besideDatabase: paths.database)
            defer { folder.remove() }
            let new = PreparedFile("imported.sqlite", in: folder, for: paths.database)
            let copy = PreparedFile("source.sqlite", in: folder, for: paths.database)
            try files.copy(to: copy, report: report)
            counts = try await Self.fill(new, sealedWith: paths.sealingKeyFile, from: copy, of: source, key, givenKeyFile, report)
            try FolderOwner.give(new.path)
            try new.moveIntoPlace()
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as StoreError {
            throw Failure(error, database: paths.database)
        }
        hasInstalledKey = configured == nil
        if hasInstalledKey { try Self.install(key, at: paths.keyFile) }
        (database, keyFile) = (paths.database, paths.keyFile)
    }

    private static func key(_ path: String) throws(Failure) -> PrivateKey? {
        do {
            return try KeyFile(path: path).load()
        } catch {
            throw .configuration(error.description)
        }
    }

    private static func fill(
        _ new: PreparedFile, sealedWith sealingKeyFile: String, from copy: PreparedFile, of name: String, _ key: PrivateKey,
        _ keyFile: String, _ report: @escaping Progress.Report
    ) async throws -> ImportCounts {
        let source = try StatusGoDatabase(copy: copy.path, of: name)
        defer { source.close() }
        let installationCount = try await source.installationCount()
        guard installationCount > 0 else {
            throw Failure.configuration(
                "\(name) holds no registrations. Every Status app's database has the table; only a server's has rows in it.")
        }
        try await source.identityEvidence().check(key.publicKey, of: keyFile, for: name)
        let hasSealingKey = FileManager.default.fileExists(atPath: sealingKeyFile)
        let store = try SQLiteStore(
            path: new.path, identity: key.publicKey.compressed, sealingKeys: try sealingKeys(sealingKeyFile),
            logger: ServerDatabase.silentLogger)
        var run = StatusGoImport(from: source, to: store, at: WallClock.system.now(), report: report)
        do {
            try await run.run(installationCount: installationCount)
        } catch {
            await store.close()
            if !hasSealingKey { try? FileManager.default.removeItem(atPath: sealingKeyFile) }
            throw error
        }
        await store.close()
        return run.counts
    }

    // MARK: Key files

    /// Reads the sealing key file, or creates it, as a server does for a new database.
    private static func sealingKeys(_ path: String) throws(Failure) -> SealingKeys {
        let keys: SealingKeys
        do throws(KeyFileError) {
            let file = SealingKeyFile(path: path)
            if let known = try file.load() { return known }
            keys = try file.create()
        } catch {
            throw .configuration(error.description)
        }
        try FolderOwner.give(path)
        return keys
    }

    private static func checkThatKeyCanBeInstalled(at path: String) throws(Failure) {
        var folder = URL(filePath: path).deletingLastPathComponent()
        while !FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)), folder.pathComponents.count > 1 {
            folder = folder.deletingLastPathComponent()
        }
        guard FileManager.default.isWritableFile(atPath: folder.path(percentEncoded: false)) else {
            throw .configuration(
                "\(path) cannot be written, and the key belongs there. Put it there yourself, readable for the server only; then try again."
            )
        }
    }

    private static func install(_ key: PrivateKey, at path: String) throws(Failure) {
        let installed: PrivateKey
        do {
            installed = try KeyFile(path: path).install(key)
        } catch {
            throw .configuration(
                "The database is complete, but the key is not installed. Put a copy of its file there. \(error.description)")
        }
        guard installed.publicKey == key.publicKey else {
            throw .configuration(
                """
                The database is complete, but another process created the key file \(path) during the import. Replace it with the \
                imported key.
                """)
        }
        try FolderOwner.give(path)
    }

    // MARK: Report

    package var lines: [String] {
        let taken = "imported \(database): \(counts.registrations) registrations, \(counts.unregistered) tombstones"
        var lines = [taken, "handled requests: \(counts.requests), skipped: \(counts.skippedRequests)"]
        lines += Self.counts(counts.exceptions).map { "taken as it is, \($0.key.text): \($0.count)" }
        lines += Self.counts(counts.tombstones).map { "kept as a tombstone, \($0.key.text): \($0.count)" }
        lines += Self.counts(counts.skipped).map { "skipped, \($0.key.text): \($0.count)" }
        lines.append(hasInstalledKey ? "installed the key in \(keyFile)" : "the key was in \(keyFile) already")
        return lines
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(database, forKey: .database)
        try container.encode(counts.registrations, forKey: .registrations)
        try container.encode(Self.encodable(counts.exceptions), forKey: .exceptions)
        try container.encode(counts.unregistered, forKey: .unregistered)
        try container.encode(Self.encodable(counts.tombstones), forKey: .tombstones)
        try container.encode(Self.encodable(counts.skipped), forKey: .skipped)
        try container.encode(counts.requests, forKey: .requests)
        try container.encode(counts.skippedRequests, forKey: .skippedRequests)
        try container.encode(keyFile, forKey: .keyFile)
        try container.encode(hasInstalledKey, forKey: .hasInstalledKey)
    }

    /// Returns the counts, ordered like the cases.
    private static func counts<Reason: CaseIterable & Hashable>(_ counts: [Reason: Int]) -> [(key: Reason, count: Int)] {
        Reason.allCases.compactMap { reason in counts[reason].map { (reason, $0) } }
    }

    private static func encodable<Reason: CaseIterable & Hashable & RawRepresentable<String>>(_ counts: [Reason: Int]) -> [Count] {
        self.counts(counts).map { Count(reason: $0.key.rawValue, count: $0.count) }
    }
}
