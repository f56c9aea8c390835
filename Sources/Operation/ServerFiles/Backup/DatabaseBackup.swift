import Bytes
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
    ///   - copying: Runs what fills a file with the database's copy: its path, its estimated size in bytes, and the work.
    ///   - encrypting: Receives how many bytes are encrypted so far, and how many there are in all.
    /// - Throws: ``BackupError``, or `CancellationError`.
    package func write(
        to place: String, actingAsOwner: @escaping (() async throws -> FileHandle) async throws -> FileHandle = { try await $0() },
        copying: @escaping (String, Int, @Sendable () async throws -> Void) async throws -> Void = { try await $2() },
        encrypting: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
    ) async throws {
        do {
            guard !FileManager.default.fileExists(atPath: place) else { throw BackupError.exists(path: place) }
            let file = try NewFile(for: place)
            defer { file.remove() }
            let copier = try DatabaseCopier(path: database)
            let byteCount = try await copier.usedByteCount
            try BackupSpace.check(
                byteCount: byteCount, place: Self.folder(of: place), plainCopy: isEncrypted ? Self.folder(of: database) : nil, free: free)
            if isEncrypted {
                let plain = try await actingAsOwner {
                    let folder = try PlainCopyFolder(besideDatabase: database)
                    defer { folder.remove() }
                    let plain = try NewFile(for: folder.path + "/copy")
                    try await copying(plain.path, byteCount) { try await copier.copy(to: plain.path) }
                    return try plain.open(O_RDONLY)
                }
                try await encrypt(plain, to: file) { encrypting($0, byteCount) }
            } else {
                try await copying(file.path, byteCount) { try await copier.copy(to: file.path) }
            }
            try await onThread { _ in try file.finish() }
        } catch let error as StoreError {
            throw BackupError.failed(error)
        }
    }

    private func encrypt(_ plain: FileHandle, to file: NewFile, report: @escaping @Sendable (Int) -> Void) async throws {
        let target = try file.open(O_WRONLY)
        try await onThread { [recipients] checkCancellation in
            var random = SecureRandom()
            var done = 0
            do {
                try AgeFile.encrypt(to: recipients, using: &random) { (count) throws in
                    try checkCancellation()
                    let chunk = [UInt8](try plain.read(upToCount: count) ?? Data())
                    done += chunk.count
                    report(done)
                    return chunk
                } write: { (bytes) throws in
                    try target.write(contentsOf: bytes)
                }
            } catch let error as CocoaError {
                throw BackupError.unwritable(path: file.path, errno: (error.underlying as? POSIXError)?.code.rawValue ?? EIO)
            }
        }
    }

    private static func folder(of path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }
}
