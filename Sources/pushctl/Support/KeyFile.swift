import Foundation
import PushClient

/// A file with a private key: 64 hex digits, for the eyes of its owner only.
struct KeyFile {
    let path: String

    /// Longer than any key with its prefix and a line end.
    private static let maximumByteCount = 128

    /// - Returns: nil if there is no such file.
    func load() throws(Failure) -> Identity? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("it cannot be read: \(Self.systemError())")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw failure("it is not a file") }
        guard status.st_mode & 0o077 == 0 else {
            throw failure("others than its owner may read or change it; put that right with `chmod 600`")
        }
        do {
            let text = String(decoding: try file.read(upToCount: Self.maximumByteCount) ?? Data(), as: UTF8.self)
            return try Identity(privateKeyHex: text.trimmingCharacters(in: .whitespacesAndNewlines))
        } catch let error as InvalidKey {
            throw failure("it holds no key. \(error.description)")
        } catch {
            throw failure("it cannot be read: \(error.localizedDescription)")
        }
    }

    /// Makes the file, readable for its owner only, unless there is one.
    func create(_ identity: Identity) throws(Failure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("it cannot be made: \(Self.systemError())") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data((identity.privateKeyHex + "\n").utf8))
            // On disk before anybody is registered with it.
            try file.synchronize()
        } catch {
            unsafe unlink(path)
            throw failure("it cannot be written: \(error.localizedDescription)")
        }
    }

    private func failure(_ reason: String) -> Failure {
        .configuration("key file \(path): \(reason)")
    }

    private static func systemError() -> String {
        unsafe String(cString: strerror(errno))
    }
}
