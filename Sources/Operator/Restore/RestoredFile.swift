import Foundation

/// A database that is prepared next to its final path.
struct RestoredFile {
    let path: String
    private let place: String

    init(replacing place: String) {
        self.place = place
        path = place + ".restored"
    }

    /// - Parameter byteCount: The size of the backup.
    func copy(from backup: FileHandle, byteCount: Int, report: Progress.Report) throws(Failure) {
        remove()
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let copy = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            var done = 0
            while let chunk = try backup.read(upToCount: 1 << 20), !chunk.isEmpty {
                try copy.write(contentsOf: chunk)
                done += chunk.count
                report(Progress(step: "copying", done: done, total: byteCount, unit: .bytes))
            }
        } catch {
            throw .configuration("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Moves the database to its final path. Its content is durable then.
    func reserveSlot() throws(Failure) {
        let folder = URL(filePath: place).deletingLastPathComponent().path()
        guard sync(path), unsafe rename(path, place) == 0, sync(folder) else { throw failure(place) }
        unsafe unlink(place + "-shm")
    }

    func remove() {
        for suffix in ["", "-wal", "-shm"] { unsafe unlink(path + suffix) }
    }

    private func sync(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        defer { close(descriptor) }
        return descriptor >= 0 && fsync(descriptor) == 0
    }

    private func failure(_ path: String) -> Failure {
        unsafe .configuration("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}
