import Envelope
import Store
import TestSupport
import Testing

@Suite(.safetyNet)
struct CheckpointTests {
    @Test func `A checkpoint is there after a restart, for its pubsub topic alone`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.open()
        #expect(try await store.checkpoint(of: "/waku/2/rs/16/32") == nil)
        try await store.saveCheckpoint(start, of: "/waku/2/rs/16/32")
        await store.close()
        store = try folder.open()
        #expect(try await store.checkpoint(of: "/waku/2/rs/16/32") == start)
        #expect(try await store.checkpoint(of: "/waku/2/rs/16/64") == nil)
        await store.close()
    }

    @Test(arguments: [Duration.seconds(60), .seconds(-86_400)])
    func `A checkpoint replaces the one before, also when the clock was set back`(step: Duration) async throws {
        try await withStore { store in
            try await store.saveCheckpoint(start, of: "/waku/2/rs/16/32")
            try await store.saveCheckpoint(start.advanced(by: step), of: "/waku/2/rs/16/32")
            #expect(try await store.checkpoint(of: "/waku/2/rs/16/32") == start.advanced(by: step))
        }
    }

    @Test func `A closed store says that nothing was saved`() async throws {
        try await withStore { store in
            await store.close()
            await #expect(throws: StoreError.closed) { try await store.saveCheckpoint(start, of: "/waku/2/rs/16/32") }
        }
    }
}
