import Glibc
package import Store

/// The reason why a backup was not made.
package enum BackupError: Error {
    case exists(path: String)
    /// A file or folder cannot be created or written: `errno`.
    case unwritable(path: String, errno: Int32)
    /// The path's disk has fewer free bytes than the backup needs.
    case diskFull(path: String, needed: Int, free: UInt64)
    case notEncrypted(AgeError)
    case failed(StoreError)
}

extension BackupError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .exists(let path): "\(path) already exists; choose another name"
        case .unwritable(let path, let errno): unsafe "cannot create \(path): \(String(cString: strerror(errno)))"
        case .diskFull(let path, let needed, let free):
            "the backup needs \(max(needed >> 20, 1)) MiB, and the disk of \(path) has \(free >> 20) MiB free"
        case .notEncrypted(let error): error.description
        case .failed(.damaged): "the copy of the database is damaged: check the database and the disk"
        case .failed(let error): "\(error)"
        }
    }
}
