import Foundation

/// A database that is made ready beside the place it is for.
struct RestoredFile {
    let path: String
    private let place: String

    init(replacing place: String) {
        self.place = place
        path = place + ".restored"
    }

    func copy(from file: String) throws(Failure) {
        remove()
        do {
            try FileManager.default.copyItem(atPath: file, toPath: path)
        } catch {
            throw .configuration("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// With the owner of its folder: as root one restores for a service that runs as somebody else.
    func takePlace() throws(Failure) {
        let folder = URL(filePath: place).deletingLastPathComponent().path()
        var owner = stat()
        if geteuid() == 0, unsafe stat(folder, &owner) == 0 { unsafe chown(path, owner.st_uid, owner.st_gid) }
        guard sync(path), unsafe rename(path, place) == 0, sync(folder) else {
            throw unsafe .configuration("\(place) cannot be written: \(String(cString: strerror(errno)))")
        }
        unsafe unlink(place + "-shm")
    }

    func remove() {
        for suffix in ["", "-wal", "-shm"] { unsafe unlink(path + suffix) }
    }

    private func sync(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        return descriptor >= 0 && fsync(descriptor) == 0
    }
}
