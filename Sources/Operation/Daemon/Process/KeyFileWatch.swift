import Bytes
import Foundation
import Observation
import ServerFiles
import StatusCrypto
import Synchronization

/// Looks whether the files with the server's keys are still those that it was started with. The server has its keys in memory and needs the
/// files at its next start only, so a missing or other file is a warning.
final class KeyFileWatch: Sendable {
    private struct File {
        let name: String
        let file: PrivateFile
        /// The content at the start, or nil if it could not be read.
        let original: Digest32?
        /// What `stat` said when the content was last compared.
        var status: [Int64]?
        var warning: String?

        init(_ name: String, _ path: String) {
            self.name = name
            file = PrivateFile(path: path)
            original = Self.digest(of: file)
            status = Self.status(of: path)
        }

        mutating func look() {
            let now = Self.status(of: file.path)
            guard now != status else { return }
            status = now
            let content = now == nil ? nil : Self.digest(of: file)
            warning =
                content == original
                ? nil
                : "the \(name) file \(file.path) \(content == nil ? "is gone" : "is another one") since the start: "
                    + "the next start needs the old one"
        }

        private static func digest(of file: PrivateFile) -> Digest32? {
            guard var bytes = (try? file.read()) ?? nil else { return nil }
            defer { bytes.wipe() }
            return SHA256.hash(bytes.span)
        }

        private static func status(of path: String) -> [Int64]? {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            return [
                Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size), Int64(status.st_mtim.tv_sec),
                Int64(status.st_mtim.tv_nsec),
            ]
        }
    }

    private let files: Mutex<[File]>

    init(_ files: ServerFiles) {
        self.files = Mutex([File("identity key", files.identityKeyFile), File("sealing key", files.sealingKeyFile)])
    }

    var warnings: [Condition] {
        files.withLock { files in
            for index in files.indices { files[index].look() }
            return files.compactMap(\.warning).map(Condition.keyFile)
        }
    }
}
