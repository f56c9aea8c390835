import Bytes
import Engine
import Envelope
import GRDB
import Store
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

@testable import SQLiteStore

/// The server does not keep the response to a request in which no push succeeded (PROTOCOL.md §9).
@Suite(.safetyNet) struct ErasedReplyTests {
    private let harness: Harness
    private let alice: ProtocolClient
    private let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    private func request() throws -> WakuEnvelope { try bob.envelope(bob.request([bob.notification(to: alice)])) }

    private func successes() throws -> [[Bool]] {
        try harness.replies.all.compactMap { bob.open($0) }.map { try PushNotificationResponse.decode($0.payload).reports.map(\.success) }
    }

    private func storedResponseCount(_ store: any PushStore) async throws -> Int? {
        try await (store as? SQLiteStore)?.pool.read { database in
            try Int.fetchOne(
                database, sql: "SELECT count(*) FROM message WHERE sealed_reply IS NOT NULL AND status_message_id IS NOT NULL")
        }
    }

    @Test func `a reply without a successful push is erased after its publication, and the same request is decided again`() async throws {
        try await harness.withServer { [self] server in
            let request = try request()
            try await server.publish(request)
            await server.engine.waitUntilIdle()
            #expect(try await storedResponseCount(server.store) == 0)
            try await server.publish(alice.envelope(alice.registration()))
            await server.engine.waitUntilIdle()
            try await server.publish(request.later)
            await server.engine.waitUntilIdle()
            #expect(try await storedResponseCount(server.store) == 1)
            #expect(try await server.store.queuedPushCount() == 1)
        }
        #expect(try successes() == [[false], [true]])
    }

    @Test func `a restart publishes an erasable reply before it is erased`() async throws {
        let publisher = FailingPublisher()
        publisher.fail(.max, with: .node(.unreachable("on purpose")))
        try await harness.withServer(publishing: publisher, drainLimit: .zero) { [self] server in
            try await server.publish(request())
            await server.engine.waitUntilDecided()
            #expect(try await storedResponseCount(server.store) == 1)
        }
        #expect(try successes() == [])
        try await harness.withServer { [self] server in
            await server.engine.waitUntilIdle()
            let count = try await storedResponseCount(server.store)
            #expect(count == 0)
        }
        #expect(try successes() == [[false]])
    }
}
