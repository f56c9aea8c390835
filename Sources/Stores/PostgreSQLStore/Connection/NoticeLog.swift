import Bytes
import Logging
import Synchronization

/// Writes the notices of PostgreSQL to the log, such as its warning about another version of the system's collations. Each connection
/// brings them again, so a text is written once.
final class NoticeLog: Sendable {
    /// Further texts are dropped. PostgreSQL has a handful about a connection.
    private static let maximumCount = 16

    private let logger: Logger
    private let texts = Mutex(Set<String>())

    init(_ logger: Logger) { self.logger = logger }

    func add(_ text: String) {
        let text = PeerText(text).description
        let isNew = texts.withLock { $0.count < Self.maximumCount && $0.insert(text).inserted }
        if isNew { logger.warning("notice of PostgreSQL", metadata: ["text": "\(text)"]) }
    }
}
