import Store
import TestSupport
import Testing

/// A kind of store. Each has to pass the tests of this folder, which know nothing but the protocol.
struct StoreUnderTest: Sendable, CustomTestStringConvertible {
    typealias Store = PushStore & ProxyStore & OriginStore

    let testDescription: String
    /// Opens the database in a folder, which is made at the first time.
    let open: @Sendable (TemporaryFolder) throws -> any Store

    /// Opens a database whose queues hold 400 pushes, and whose settings name the bundle id `org.named`.
    let openSmall: @Sendable (TemporaryFolder) throws -> any Store

    static let all = [
        StoreUnderTest(testDescription: "SQLite") {
            try $0.open()
        } openSmall: {
            try $0.open(maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
        StoreUnderTest(testDescription: "SQLite, sealed") {
            try $0.open(sealingKeys: sealingKeys(1))
        } openSmall: {
            try $0.open(sealingKeys: sealingKeys(1), maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
        StoreUnderTest(testDescription: "PostgreSQL") {
            try $0.openPostgreSQL()
        } openSmall: {
            try $0.openPostgreSQL(maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
        StoreUnderTest(testDescription: "PostgreSQL, sealed") {
            try $0.openPostgreSQL(sealingKeys: sealingKeys(1))
        } openSmall: {
            try $0.openPostgreSQL(sealingKeys: sealingKeys(1), maximumQueueCount: 400, namedBundleIDs: ["org.named"])
        },
    ]

    func withSmallQueue(_ body: (any Store) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try openSmall(folder)
        try await body(store)
        await store.close()
    }

    /// A new store that is closed at the end.
    func withStore(_ body: (any Store) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        try await body(store)
        await store.close()
    }

    /// A new store, and another one on the same database once that was killed.
    func withCrash(
        _ before: (any Store) async throws -> Void, after: (any Store) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        // Not closed before the other one is opened: as a killed process leaves it.
        let crashed = try open(folder)
        try await before(crashed)
        let store = try open(folder)
        try await after(store)
        await store.close()
        await crashed.close()
    }
}
