import Foundation
import Platform
import ServerFiles

/// The file to which a server writes its bound addresses as soon as it is ready (INTERFACE.md, "Files").
struct ReadyFile: Sendable {
    private let path: String

    /// Checks that the file can be written, without changing it.
    init(path: String) throws(ReadyFileError) {
        self.path = path
        let probe = TemporaryName.next(beside: path)
        let descriptor = unsafe open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        close(descriptor)
        unsafe unlink(probe)
        do {
            try RegularFile.check(path)
        } catch {
            throw ReadyFileError(description: "the ready file \(path) cannot be written: \(error)", isTemporary: false)
        }
    }

    /// Removes an earlier run's file, and temporary files that killed processes have left. Call it once no other server can use the file.
    func removeEarlier() throws(ReadyFileError) {
        TemporaryName.removeLeftovers(beside: path)
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw failure() }
    }

    func write(_ body: ReadyFileBody) throws {
        let temporary = TemporaryName.next(beside: path)
        try Data((body.json() + "\n").utf8).write(to: URL(filePath: temporary))
        guard unsafe rename(temporary, path) == 0 else { throw failure() }
    }

    private func failure(_ number: Int32 = errno) -> ReadyFileError {
        ReadyFileError(
            description: "the ready file \(path) cannot be written: \(FileFault.text(number))", isTemporary: FileFault.isTemporary(number))
    }
}

package struct ReadyFileError: FileError, CustomStringConvertible {
    package let description: String
    package let isTemporary: Bool
}
