import Store
import TestSupport
import Testing

/// A kind of store. Each must pass the tests of this folder, which use only the protocol.
struct StoreUnderTest: Sendable, CustomTestStringConvertible {
    typealias Store = PushStore & ClockStore & ProxyStore & OriginStore

    let testDescription: String
    /// Opens the database in a folder. The first call creates it.
    let open: @Sendable (TemporaryFolder) throws -> any Store

    /// Opens a database whose queues hold 400 pushes, and whose settings name the bundle id `org.named`.
    let openSmall: @Sendable (TemporaryFolder) throws -> any Store

    static let all = [
        StoreUnderTest(testDescription: "SQLite") {
            try $0.open()
        } openSmall: {
            try $0.open(maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
        StoreUnderTest(testDescription: "PostgreSQL") {
            try $0.openPostgreSQL()
        } openSmall: {
            try $0.openPostgreSQL(maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
    ]

    func withSmallQueue(_ body: (any Store) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try openSmall(folder)
        try await body(store)
        await store.close()
    }

    /// Passes a new store to the body, and closes it at the end.
    func withStore(_ body: (any Store) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        try await body(store)
        await store.close()
    }

    /// Passes a new store to the first body. Then it passes another store on the same database, as after a kill, to the second body.
    func withCrash(
        _ before: (any Store) async throws -> Void, after: (any Store) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        // The first store stays open, like that of a killed process.
        let crashed = try open(folder)
        try await before(crashed)
        let store = try open(folder)
        try await after(store)
        await store.close()
        await crashed.close()
    }
}
