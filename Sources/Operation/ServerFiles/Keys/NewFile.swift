import Foundation

/// A file of mode 0600 with a temporary name, which gets its own name once it is complete.
struct NewFile: Sendable {
    let path: String
    private let place: String

    /// Creates the empty file.
    ///
    /// - Parameter place: The path that the file gets, in an existing folder.
    init(for place: String) throws(BackupError) {
        self.place = place
        path = TemporaryName.next(beside: place)
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unwritable(path: place, errno: errno) }
        close(descriptor)
    }

    func open(_ flags: Int32) throws(BackupError) -> FileHandle {
        let descriptor = unsafe Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unwritable(path: path, errno: errno) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Makes content and name durable. It blocks its thread on the disk.
    func finish() throws(BackupError) {
        guard unsafe access(place, F_OK) != 0 else { throw .exists(path: place) }
        guard sync(path), unsafe rename(path, place) == 0, sync(folder) else { throw .unwritable(path: place, errno: errno) }
    }

    /// Removes the file unless it has got its own name.
    func remove() { unsafe unlink(path) }

    private var folder: String { URL(filePath: place).deletingLastPathComponent().path(percentEncoded: false) }

    private func sync(_ path: String) -> Bool {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}
