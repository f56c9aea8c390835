import Envelope
import Foundation
import GRDB
import Logging
import SQLiteStore
import Settings
import StatusCrypto
import Store
import TestSupport
import Testing
import WakuREST
import Wire

/// A restart with more unanswered replies than the server keeps in memory, beside a node that publishes none of them.
@Suite(.fewAtATime) struct RefusingNodeTests {
    private static let unansweredCount = 4_500

    @Test func `replies that cannot be published delay neither messages nor pushes nor the shutdown`() async throws {
        let folder = try TemporaryFolder()
        let identity = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        try await leaveUnanswered(in: folder, identity)
        let node = try RefusingNode()
        let server = try ServerProcess.launch(
            in: folder, settings: ["transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.history": "false"])
        let (alice, bob) = (ProtocolClient(server: identity.publicKey), ProtocolClient(server: identity.publicKey))
        let watch = try FolderWatch(folder.path("."))
        node.put(try alice.envelope(alice.registration()))
        try await watch.wait { try count("registration", of: server) == 1 }
        node.put(try bob.envelope(bob.request([bob.notification(to: alice)])))
        try await watch.wait { try count("push", of: server) == 1 }
        #expect(await server.terminate() == 0, "\(server.log.all)")
        #expect(try rows(of: "unfinished_message", in: folder) == Self.unansweredCount + 2)
    }

    /// As a server leaves it whose node has been away for a while.
    private func leaveUnanswered(in folder: TemporaryFolder, _ identity: PrivateKey) async throws {
        let store = try SQLiteStore(
            path: folder.path("push.sqlite"), identity: identity.publicKey.compressed,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let client = ProtocolClient(server: identity.publicKey)
        let envelopes = (0..<Self.unansweredCount).map { client.wrap([UInt8($0 & 0xFF)], topic: TopicName.personal(client.server).topic) }
        let now = Timestamp(nanoseconds: Int64(Date.now.timeIntervalSince1970) * 1_000_000_000)
        let rows = try await store.record(envelopes.map { (hash: $0.hash, envelope: $0) }, at: now).compactMap(\.self)
        let reply = Reply(
            type: .pushNotificationResponse, payload: PushNotificationResponse().encoded(),
            recipient: client.key.publicKey.compressed, pubsubTopic: client.pubsubTopic, statusMessageID: nil)
        try await store.apply(at: now) { batch in
            for row in rows { batch.decide(row, as: .answered(reply)) }
        }
        await store.close()
    }

    private func count(_ table: String, of server: Launched<ServerProcess.Addresses>) throws -> Int {
        try #require(server.isRunning, "\(server.log.all)")
        return try rows(of: table, in: server.folder)
    }

    private func rows(of table: String, in folder: TemporaryFolder) throws -> Int {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: folder.path("push.sqlite"), configuration: configuration)
        return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }
}

/// A Waku node that gives messages and takes none.
private final class RefusingNode: Sendable {
    private let cache = Condition<[WakuEnvelope]>([])
    private let server: RawServer

    init() throws {
        server = try RawServer { [cache] connection in
            while let request = connection.readRequest() {
                if request.hasPrefix("GET /relay/v1/messages") {
                    let messages = cache.change { cache in
                        defer { cache = [] }
                        return cache
                    }
                    connection.respond(body: "[\(messages.map { MessageJSON.request($0.message) }.joined(separator: ","))]")
                } else if request.hasPrefix("POST /relay/v1/messages") {
                    connection.respond(status: 500, body: "on purpose")
                } else {
                    connection.respond(body: "OK")
                }
            }
        }
    }

    var url: String { server.url }

    func put(_ envelope: WakuEnvelope) {
        cache.change { $0.append(envelope) }
    }
}
