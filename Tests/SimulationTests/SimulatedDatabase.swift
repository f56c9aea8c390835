import Bytes
import PushProtocol
import Store
import TestSupport

/// The database of a simulated world. Its rows survive the end of the server's process, and its writes fail on demand.
protocol SimulatedDatabase {
    associatedtype Opened: SharedStore

    /// The store of the newest process, or nil before the first.
    var store: Opened? { get }

    /// Opens the store of a new process.
    ///
    /// - Parameter seed: Determines the secrets of a new database.
    mutating func open(seed: UInt64) throws -> any PushStore

    /// Lets writes fail until ``heal()``, which replaces an earlier failure.
    ///
    /// - Parameters:
    ///   - first: The number of the first write that fails, counted from 1.
    ///   - count: The number of failures of a disk.
    mutating func fail(with failure: FaultyDisk.Failure, first: Int, count: Int) async throws

    /// Lets writes succeed again. After a power cut only ``crash(powerCut:)`` does.
    mutating func heal() async throws

    /// Whether a power cut of ``fail(with:first:count:)`` has happened.
    var isCut: Bool { get }

    /// Ends the process at its current step.
    ///
    /// - Parameter powerCut: Determines which unsynced pages of a file survive the machine's end, none with 0; nil if the machine goes on.
    mutating func crash(powerCut: UInt64?) async throws

    /// Deletes the database once the store is closed.
    func remove() async throws
}

private struct Closed: Error {}

extension SimulatedDatabase {
    /// Returns all registrations, without their lists.
    func phones() async throws -> [Installation: ReferenceModel.Phone] {
        let phones = try await store?.reading { database in
            try database.all("SELECT key_hash, installation_id, version, is_live FROM registration") { row in
                let installation = Installation(keyHash: try row.next(), installationID: try row.next())
                return (installation, ReferenceModel.Phone(version: try row.next(), isLive: try row.next()))
            }
        }
        return Dictionary(phones ?? []) { first, _ in first }
    }

    /// Returns the deduplication keys of all stored pushes.
    func deduplicationKeys() async throws -> Set<Digest32> {
        guard let store else { throw Closed() }
        return Set(try await store.reading { try $0.all("SELECT deduplication_key FROM push") { try $0.next(Digest32.self) } })
    }

    /// Returns the number in the first row of a query, or nil if there is no row.
    func number(_ sql: String) async throws -> Int64? {
        guard let store else { throw Closed() }
        return try await store.reading { database in try database.first(sql) { try $0.next(Int64.self) } }
    }

    /// Returns the id of the newest push, or 0 without pushes.
    func newestPush() async throws -> Int64 { try await number("SELECT id FROM push ORDER BY id DESC LIMIT 1") ?? 0 }

    /// Returns the highest number of pushes to one installation, of those with ids above `push`.
    func maximumPushCount(after push: Int64) async throws -> Int {
        let counts = "SELECT count(*) FROM push WHERE id > \(push) GROUP BY key_hash, installation_id"
        return Int(try await number("\(counts) ORDER BY 1 DESC LIMIT 1") ?? 0)
    }

    /// Returns whether a message is in the state `answered`: its decision is stored, and the server has not given up on it.
    func isAnswered(_ row: Int64) async throws -> Bool {
        try await number("SELECT state FROM message WHERE id = \(row)") == MessageState.answered.rawValue
    }

    /// Returns the outcome of a push, or nil while it is open.
    func outcome(of push: Int64) async throws -> PushOutcome? {
        try await number("SELECT state FROM push WHERE id = \(push) AND finished_at IS NOT NULL").flatMap(PushOutcome.init(rawValue:))
    }
}
