import Foundation
import Settings

/// The file to which a server writes its bound addresses as soon as it is ready (INTERFACE.md, "Files").
struct ReadyFile: Sendable {
    private let path: String

    /// Removes the file of an earlier run, and checks that a new one can be written.
    init(path: String) throws(ReadyFileError) {
        self.path = path
        let probe = TemporaryName.next(beside: path)
        let descriptor = unsafe open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        close(descriptor)
        unsafe unlink(probe)
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw failure() }
    }

    func write(_ body: ReadyFileBody) throws {
        try Data((body.json() + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
    }

    private func failure() -> ReadyFileError {
        ReadyFileError(description: unsafe "the ready file \(path) cannot be written: \(String(cString: strerror(errno)))")
    }
}

package struct ReadyFileError: Error, CustomStringConvertible {
    package let description: String
}
