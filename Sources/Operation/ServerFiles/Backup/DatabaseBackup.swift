package import Foundation
import SQLiteStore
import Store

/// Makes backups of a server's database, plain or encrypted.
package struct DatabaseBackup: Sendable {
    private let database: String
    private let recipients: [AgeRecipient]
    private let free: @Sendable (String) -> UInt64?

    /// - Parameters:
    ///   - database: The database's path. Its server may be running.
    ///   - recipients: The keys for which backups are encrypted, or none for plain backups.
    ///   - free: The free bytes of a folder's disk, or nil if the system does not tell.
    package init(of database: String, recipients: [AgeRecipient], free: (@Sendable (String) -> UInt64?)? = nil) {
        self.database = database
        self.recipients = recipients
        self.free = free ?? { BackupSpace.free(of: $0) }
    }

    package var isEncrypted: Bool { !recipients.isEmpty }

    /// Writes a backup. A file appears at the path only when it is complete and durable. Cancelling the task interrupts the work.
    ///
    /// An encrypted backup needs a plain copy first (``PlainCopyFolder``), which is already unlinked while it is encrypted.
    ///
    /// - Parameters:
    ///   - place: The backup's path, in an existing folder.
    ///   - actingAsOwner: Runs what creates, opens and removes the plain copy in the database's folder.
    ///   - filling: Runs a step that fills a file: `copying` or `encrypting`, the file's path, its estimated size in bytes, and the work.
    /// - Throws: ``BackupError``, or `CancellationError`.
    package func write(
        to place: String, actingAsOwner: @escaping (() async throws -> FileHandle) async throws -> FileHandle = { try await $0() },
        filling: @escaping (String, String, Int, @Sendable () async throws -> Void) async throws -> Void = { try await $3() }
    ) async throws {
        do {
            guard !FileManager.default.fileExists(atPath: place) else { throw BackupError.exists(path: place) }
            // Before the copy, which may take minutes.
            let age = try isEncrypted ? AgeProgram() : nil
            let file = try NewFile(for: place)
            defer { file.remove() }
            let copier = try DatabaseCopier(path: database)
            let byteCount = try await copier.usedByteCount
            try BackupSpace.check(
                byteCount: byteCount, place: Self.folder(of: place), plainCopy: isEncrypted ? Self.folder(of: database) : nil, free: free)
            if let age {
                let plain = try await actingAsOwner {
                    let folder = try PlainCopyFolder(besideDatabase: database)
                    defer { folder.remove() }
                    let plain = try NewFile(for: folder.path + "/copy")
                    try await filling("copying", plain.path, byteCount) { try await copier.copy(to: plain.path) }
                    return try plain.open(O_RDONLY)
                }
                let target = try file.open(O_WRONLY)
                try await filling("encrypting", file.path, byteCount) { [recipients] in
                    try await age.encrypt(plain, to: recipients, into: target)
                }
            } else {
                try await filling("copying", file.path, byteCount) { try await copier.copy(to: file.path) }
            }
            try Task.checkCancellation()
            try await onThread { try file.finish() }
        } catch let error as StoreError {
            throw BackupError.failed(error)
        } catch let error as AgeError {
            throw BackupError.notEncrypted(error)
        }
    }

    private static func folder(of path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }
}
