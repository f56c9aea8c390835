import Bytes
import Foundation

/// Names of files that are written next to another file and then replace it.
///
/// The names are random, not derived from the process id: in a container, a service's process gets the same id at every start, and a
/// process that is killed leaves its file behind.
package enum TemporaryName {
    private static let suffix = ".new"

    /// Returns a name that no other process uses: the path, 16 hex digits and `.new`.
    package static func next(beside path: String) -> String {
        var random = SecureRandom()
        return "\(path).\(Hex.encode(random.bytes(8)))\(suffix)"
    }

    /// Removes the temporary files of killed processes. Call it only while no other process can write the file.
    package static func removeLeftovers(beside path: String) {
        let file = URL(filePath: path)
        let folder = file.deletingLastPathComponent()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
        for name in names where name.hasPrefix(file.lastPathComponent + ".") && name.hasSuffix(suffix) {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }
}
