import PushProtocol
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct StorageSizeTests {
    @Test func `space that an unregistration has freed does not count towards the limit`() async throws {
        try await withSQLiteStore { store in
            func isFull() async throws -> Bool {
                try await store.state { lookups in
                    lookups.registrations = [installation()]
                    lookups.maximumStoredByteCount = 10_000_000
                }.isStorageFull
            }
            var large = registration()
            large.content.allowedKeyList = [[UInt8](repeating: 1, count: 10_000_000)]
            try await store.register(large)
            #expect(try await isFull())
            try await store.unregister(version: 2)
            #expect(try await !isFull())
        }
    }
}
