import Glibc
import SQLiteStore

/// Checks the disks before a backup.
enum BackupSpace {
    /// Checks that the disks have room for a backup: the copy, and a tenth for what the server writes meanwhile.
    ///
    /// - Parameters:
    ///   - byteCount: The copy's size.
    ///   - place: The backup's folder.
    ///   - plainCopy: The copy's folder before it is encrypted, or nil without encryption.
    ///   - free: The free bytes of a folder's disk, or nil if the system does not tell.
    /// - Throws: ``BackupError/diskFull(path:needed:free:)``.
    static func check(
        byteCount: Int, place: String, plainCopy: String?, free: (String) -> UInt64? = free(of:)
    ) throws(BackupError) {
        let needed = byteCount + byteCount / 10
        if let plainCopy {
            try check(needed: disk(of: plainCopy) == disk(of: place) ? 2 * needed : needed, folder: plainCopy, free)
        }
        try check(needed: needed, folder: place, free)
    }

    static func free(of folder: String) -> UInt64? { DiskSpace(ofFile: folder)?.free }

    private static func check(needed: Int, folder: String, _ free: (String) -> UInt64?) throws(BackupError) {
        guard let free = free(folder), free < needed else { return }
        throw .diskFull(path: folder, needed: needed, free: free)
    }

    private static func disk(of folder: String) -> UInt? {
        var space = statvfs()
        return unsafe statvfs(folder, &space) == 0 ? space.f_fsid : nil
    }
}
