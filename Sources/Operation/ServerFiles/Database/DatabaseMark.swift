import Bytes
import Glibc
import Logging
import Platform

/// A file next to the admin token that says where a server's database is. With it, a start without the database is a mistake, such as a
/// disk that is mounted late, and no new server. Neither the identity key nor the sealing key tells that: both may be kept for a new start.
struct DatabaseMark {
    private let database: String
    private let file: PrivateFile

    /// - Parameter database: The path of an SQLite database.
    init(of database: String) {
        self.database = database
        file = PrivateFile(path: database + ".mark")
    }

    /// - Throws: ``LostDatabaseError`` if a server has used the database, and its file is empty or does not exist.
    func checkThatDatabaseExists() throws {
        guard FileStatus(path: database)?.byteCount ?? 0 == 0 else { return }
        guard let mark = try? file.read(), mark.starts(with: text(identity: "").utf8) else { return }
        throw LostDatabaseError(database: database, mark: file.path)
    }

    /// Writes the mark, once the database's first transaction is durable.
    func write(identity: FixedBytes<33>, logger: Logger) {
        let text = Array(text(identity: Hex.encode(identity.bytes, prefix: "0x") + "\n").utf8)
        guard (try? file.read()) != text else { return }
        do {
            try file.write(text, replaces: true)
        } catch {
            logger.warning(
                "a start without the database would create a new one, because its mark cannot be kept",
                metadata: ["file": "\(file.path)", "error": "\(error)"])
        }
    }

    private func text(identity: String) -> String { "\(database)\n\(identity)" }
}

/// A server's database is gone. A disk that is mounted late brings it back, so the start is tried again.
package struct LostDatabaseError: Error, CustomStringConvertible {
    let database: String
    let mark: String

    package var description: String {
        """
        the database \(database) is gone: a server has used it, and the file is empty or does not exist. Put the file back, or mount its \
        disk. For a new server without its registrations, remove \(mark)
        """
    }
}
