import Bytes
import Engine
import Envelope
import GRDB
import PushProtocol
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import SQLiteStore

/// The load that untrusted clients can cause on the only writer, counted in statements (docs/LIMITS.md). All messages wait for the writer.
@Suite(.safetyNet) struct WriterCostTests {
    /// A counter of the writer's statements about registrations and pushes.
    private final class Statements: Sendable {
        private let count = Mutex(0)

        func count(in store: any PushStore) async throws {
            try await (store as? SQLiteStore)?.pool.writeWithoutTransaction { database in
                database.trace { event in
                    let sql = "\(event)"
                    guard sql.contains("registration") || sql.contains("push") else { return }
                    self.count.withLock { $0 += 1 }
                }
            }
        }

        /// Returns the count since the last call.
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    private let harness: Harness
    private let alice: ProtocolClient
    private let mallory: ProtocolClient

    init() throws { (harness, alice, mallory) = try Harness.withTwoClients() }

    /// A request of 151 KB that named one installation 1,000 times, each time with another chat, once took seconds.
    @Test func `a request that names an installation a thousand times causes one lookup of it`() async throws {
        try await harness.register([alice])
        let statements = Statements()
        try await harness.withServer(prepare: statements.count) { [harness, alice, mallory] server in
            func cost(ofNaming count: Int) async throws -> Int {
                _ = statements.take()
                let notifications = (0..<count).map { number in
                    var notification = mallory.notification(to: alice)
                    notification.chatID = [UInt8(number / 256), UInt8(number % 256)]
                    return notification
                }
                let request = mallory.request(notifications, messageID: [UInt8(count / 256), UInt8(count % 256)])
                try await server.publish(mallory.envelope(request))
                await server.engine.waitUntilIdle()
                return statements.take()
            }
            // The first push of a route also counts its queue.
            _ = try await cost(ofNaming: 2)
            let once = try await cost(ofNaming: 1)
            #expect(once > 0)
            #expect(try await cost(ofNaming: 1_000) == once)
            #expect(try await server.store.queuedPushCount() == 3)
            #expect(Set(harness.replies.all.compactMap { mallory.open($0)?.type }) == [.pushNotificationResponse])
        }
    }

    @Test func `thirty registrations with the longest lists do not stop an honest push`() async throws {
        try await harness.register([alice])
        let statements = Statements()
        try await harness.withServer(prepare: statements.count) { [harness, alice, mallory] server in
            let list = (0..<UInt32(4_000)).map { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
            for _ in 1...30 {
                let stranger = ProtocolClient(server: harness.server)
                var registration = stranger.registration()
                registration.blockedChatList = list
                registration.mutedChatList = list
                registration.allowedMentionsChatList = list
                try await server.publish(stranger.envelope(registration))
                let notifications = Array(repeating: mallory.notification(to: stranger), count: 100)
                try await server.publish(mallory.envelope(mallory.request(notifications, messageID: stranger.keyHash.bytes)))
            }
            let honest = ProtocolClient(server: harness.server)
            try await server.publish(honest.envelope(honest.request([honest.notification(to: alice)])))
            let reply = try await PushNotificationResponse.decode(honest.reply(1, from: harness).payload)
            #expect(reply.reports.map(\.success) == [true])
            await server.engine.waitUntilIdle()
            #expect(try await server.store.registrationCount() == 31)
            // Each message causes some statements, whatever its content.
            #expect(statements.take() < 61 * 20)
        }
    }
}
