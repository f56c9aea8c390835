import Foundation
import ServerFiles

/// A database file that a tool prepares in a folder beside a server's database. A server never opens it.
struct PreparedFile {
    let path: String
    private let place: String

    /// - Parameters:
    ///   - place: The server's database, as a path.
    ///   - name: The file's name in the folder.
    init(_ name: String, in folder: PlainCopyFolder, for place: String) {
        self.place = place
        path = "\(folder.path)/\(name)"
    }

    /// Creates the file, which must not exist yet, with mode 0600.
    ///
    /// - Parameter suffix: `-wal` or `-journal` for a file that belongs to the database.
    func create(suffix: String = "") throws(Failure) -> FileHandle {
        let descriptor = unsafe open(path + suffix, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path + suffix) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Copies a source into the file, which ``create(suffix:)`` has opened.
    ///
    /// - Parameter byteCount: The source's size.
    func fill(_ copy: FileHandle, from source: FileHandle, byteCount: Int, report: Progress.Report) throws(Failure) {
        do {
            var done = 0
            while let chunk = try source.read(upToCount: 1 << 20), !chunk.isEmpty {
                try copy.write(contentsOf: chunk)
                done += chunk.count
                report(Progress(step: "copying", done: done, total: byteCount, unit: .bytes))
            }
        } catch {
            throw .configuration("\(path) cannot be written: \(error.localizedDescription)")
        }
    }

    /// Checks that a server doesn't have a database yet, because a tool must not overwrite it, and that SQLite finds no log or journal of
    /// an earlier one, because it would replay that into the new one.
    static func checkThatPlaceIsFree(_ place: String) throws(Failure) {
        for suffix in ["", "-wal", "-journal"] {
            let size = try? FileManager.default.attributesOfItem(atPath: place + suffix)[.size] as? Int
            guard (size ?? 0) == 0 else {
                throw .configuration(
                    "\(place + suffix) already exists. Stop the server, move \(place) and the files \(place)-* away, and try again.")
            }
        }
    }

    /// Makes the file the server's database, in a single durable step.
    ///
    /// - Throws: ``Failure``, also when the file's WAL has content, because the rows in it would be lost.
    func moveIntoPlace() throws(Failure) {
        guard (FileGrowth.size(of: path + "-wal") ?? 0) == 0 else {
            throw .failed("The WAL of \(path) could not be copied into the file. Try again.")
        }
        let folder = URL(filePath: place).deletingLastPathComponent().path(percentEncoded: false)
        guard sync(path), unsafe rename(path, place) == 0, sync(folder) else { throw failure(place) }
        unsafe unlink(place + "-shm")
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
