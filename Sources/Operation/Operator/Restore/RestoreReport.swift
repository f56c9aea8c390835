import Bytes
import Envelope
import Foundation
import SQLiteStore
import ServerCrypto
package import ServerFiles
import StatusCrypto
import Store

/// The result of restoring a server's database from a backup.
package struct RestoreReport: Report {
    /// Pushes in the backup expire after this time, because older notifications are useless on a phone.
    private static let pushLifetime = Duration.seconds(3_600)

    private let database: String
    private let registrations: Int
    private let uncertainPushes: Int
    private let expiredPushes: Int

    package var lines: [String] {
        [
            "restored \(database): \(registrations) registrations",
            "pushes that may have been sent since the backup, and are tried again: \(uncertainPushes)",
            "pushes older than an hour, which have expired: \(expiredPushes)",
        ]
    }

    private init(database: String, registrations: Int, uncertainPushes: Int, expiredPushes: Int) {
        self.database = database
        self.registrations = registrations
        self.uncertainPushes = uncertainPushes
        self.expiredPushes = expiredPushes
    }

    /// Restores a backup as a server's database. No server may run on it, and the database file must not exist.
    ///
    /// - Parameter identityFile: The file with the private keys that open an encrypted backup.
    /// - Throws: ``Failure``.
    package init(
        restoring file: String, identityFile: String?, to paths: ServerPaths, report: @escaping Progress.Report
    ) async throws {
        let identity = try Self.identity(paths.keyFile)
        let sealingKeys = try Self.sealingKeys(paths.sealingKeyFile)
        let backup = try FileHandle(readingRegularFile: file)
        let decryption = try Self.decryption(of: backup, file, identityFile)
        do {
            // What is created belongs to the user who owns the database's folder. Backup and private key may be root's alone, so they are
            // read with the rights of whoever runs the command. The rest runs as the owner.
            let place = try await FolderOwner.acting(for: paths.database) { try RestorePlace(for: paths.database) }
            let filled = await Result {
                let byteCount = FileGrowth.size(of: file) ?? 0
                if let decryption {
                    try await FileGrowth.withReports(of: place.copy.path, total: byteCount, step: "decrypting", to: report) {
                        try await decryption.run(into: place.file)
                    }
                } else {
                    try place.copy.fill(place.file, from: backup, byteCount: byteCount, report: report)
                }
            }
            try FolderOwner.become(for: paths.database)
            defer { place.remove() }
            try filled.get()
            let copy = place.copy
            try UntrustedDatabase.checkThatItHasTablesOnly(copy.path, of: file)
            self = try await Self.settle(copy.path, of: file, identity, sealingKeys, paths)
            try FolderOwner.give(copy.path)
            try copy.moveIntoPlace()
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as StoreError {
            throw Failure(error, database: paths.database)
        }
    }

    private static func identity(_ keyFile: String) throws(Failure) -> PrivateKey {
        do {
            if let key = try KeyFile(path: keyFile).load() { return key }
        } catch {
            throw .configuration(error.description)
        }
        throw .configuration(
            """
            There is no key file \(keyFile). A database always belongs to one identity, so restore its key file first; identity.keyFile \
            in the server's configuration (--config) names its path.
            """)
    }

    /// - Returns: The sealing keys, or nil without the file. The store refuses a sealed backup then.
    private static func sealingKeys(_ path: String) throws(Failure) -> SealingKeys? {
        do {
            return try SealingKeyFile(path: path).load()
        } catch {
            throw .configuration(error.description)
        }
    }

    /// - Returns: How to open an encrypted backup, or nil for a plain backup.
    private static func decryption(of backup: FileHandle, _ file: String, _ identityFile: String?) throws -> Decryption? {
        let start = [UInt8](try backup.read(upToCount: 64) ?? Data())
        try backup.seek(toOffset: 0)
        guard AgeProgram.hasHeader(start) else { return nil }
        guard let identityFile else {
            throw Failure.usage("\(file) is encrypted. Name the file with the private key with --identity-file.")
        }
        _ = try FileHandle(readingRegularFile: identityFile)
        do {
            return Decryption(age: try AgeProgram(), backup: backup, file: file, identityFile: identityFile)
        } catch {
            throw Failure(error)
        }
    }

    private static func settle(
        _ path: String, of file: String, _ key: PrivateKey, _ sealingKeys: SealingKeys?, _ paths: ServerPaths
    ) async throws -> RestoreReport {
        let now = WallClock.system.now()
        do {
            let store = try SQLiteStore(
                path: path, identity: key.publicKey.compressed, sealingKeys: sealingKeys, logger: ServerDatabase.silentLogger)
            let result = await Result {
                let pushes = try await store.finishRestoredPushes(acceptedBefore: now.advanced(by: .zero - pushLifetime), at: now)
                let registrations = try await store.registrationCounts().live.values.reduce(0, +)
                return RestoreReport(
                    database: paths.database, registrations: registrations, uncertainPushes: pushes.uncertainCount,
                    expiredPushes: pushes.expiredCount)
            }
            await store.close()
            return try result.get()
        } catch StoreError.otherIdentity {
            throw Failure.configuration(
                "\(file) belongs to another identity than the one in \(paths.keyFile). Put the key file back that it was made with.")
        } catch let error as StoreError {
            throw Failure(error, database: file, sealingKeyFile: paths.sealingKeyFile)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
