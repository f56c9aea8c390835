package import Logging
import Synchronization

/// The rows that a running store could not read, each counted and told once.
package final class DamagedRows: Sendable {
    /// The number of rows that are remembered: so many are a wrong key or a bad disk, which is told long before.
    private static let maximumCount = 10_000

    private let logger: Logger
    private let noted = Mutex<Set<String>>([])

    package init(logger: Logger) { self.logger = logger }

    package var count: Int { noted.withLock(\.count) }

    package func note(_ rows: [Int64], of table: String) {
        let new = noted.withLock { noted in
            rows.filter { noted.count < Self.maximumCount && noted.insert("\(table) \($0)").inserted }
        }
        guard !new.isEmpty else { return }
        logger.error("rows are damaged and set aside", metadata: ["table": "\(table)", "rows": "\(new)"])
    }
}

/// A kind of row that a store sets aside when it cannot be read: its values have another shape, or do not open with the sealing keys.
///
/// Such a row must not stop its page's others. It stays undecided or open in the audit's sum, is never deleted, and is read again after the
/// next start. A registration is read again by each request to it. The raw value is stored.
package enum DamagedRowKind: String, Sendable, CaseIterable {
    /// An undecided message, or a reply that is not published.
    case message
    /// A push, or one to a gateway's device whose row cannot be read.
    case push
    case registration
}

extension SharedStore {
    package var damagedRowCount: Int { damagedRows.count }

    /// - Returns: As ``SharedWriteTransaction/setAside(_:_:)``.
    @discardableResult
    package func setAside(_ rows: [Int64], _ kind: DamagedRowKind) async throws -> [Int64] {
        guard !rows.isEmpty else { return [] }
        return try await writing { try $0.setAside(rows, kind) }
    }
}

/// Observes which rows a running store sets aside.
package struct DamagedRowWatch: Sendable {
    /// More than 16 damaged rows in an hour are a wrong key or a bad disk, and not a few rows.
    private static let hourlyLimit = 16
    private static let interval = Duration.seconds(3_600)

    /// The number of rows that were set aside since the start.
    package private(set) var count = 0
    private var recent: [(count: Int, at: Duration)] = []

    package init() {}

    /// Takes the number of rows that the store has set aside.
    ///
    /// - Parameter now: The monotonic time.
    package mutating func observe(_ count: Int, at now: Duration) {
        recent.removeAll { $0.at + Self.interval <= now }
        if count > self.count { recent.append((count - self.count, now)) }
        self.count = count
    }

    /// Whether so many rows were set aside lately that the database or its key is the cause.
    package var isFault: Bool { recent.reduce(0) { $0 + $1.count } > Self.hourlyLimit }
}
