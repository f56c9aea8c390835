import Foundation

/// Keeps a second server off the same database: each would decide from memory of its own what the other one changes.
///
/// The lock is the operating system's and ends with the process, however that ends; the file stays.
final class InstanceLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `InstanceLockError` when another process holds it, or the file cannot be made.
    init(path: String) throws(InstanceLockError) {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw InstanceLockError("\(path) cannot be made") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw InstanceLockError("another server runs on this database (\(path) is locked)")
        }
    }

    deinit { close(descriptor) }
}

package struct InstanceLockError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
