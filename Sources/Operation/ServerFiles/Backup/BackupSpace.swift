import Glibc
import SQLiteStore

/// Checks the disks before a backup.
enum BackupSpace {
    /// Checks that the disks have room for a backup.
    ///
    /// - Parameters:
    ///   - byteCount: The copy's size.
    ///   - place: The backup's folder.
    ///   - plainCopy: The copy's folder before it is encrypted, or nil without encryption.
    /// - Throws: ``BackupError/diskFull(path:needed:free:)``.
    static func check(byteCount: Int, place: String, plainCopy: String?) throws(BackupError) {
        if let plainCopy {
            try check(byteCount: disk(of: plainCopy) == disk(of: place) ? 2 * byteCount : byteCount, folder: plainCopy)
        }
        try check(byteCount: byteCount, folder: place)
    }

    private static func check(byteCount: Int, folder: String) throws(BackupError) {
        guard let space = DiskSpace(ofFile: folder), space.free < byteCount else { return }
        throw .diskFull(path: folder, needed: byteCount, free: space.free)
    }

    private static func disk(of folder: String) -> UInt? {
        var space = statvfs()
        return unsafe statvfs(folder, &space) == 0 ? space.f_fsid : nil
    }
}
