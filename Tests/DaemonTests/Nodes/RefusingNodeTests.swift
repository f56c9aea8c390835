import Envelope
import Foundation
import PostgreSQLStore
import SQLiteStore
import ServerFiles
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

/// A restart with more unpublished replies than the server keeps in memory, at a node that rejects them all.
@Suite(.fewAtATime) struct RefusingNodeTests {
    private static let unansweredCount = 4_500

    @Test(arguments: TestDatabase.allCases)
    func `replies that cannot be published delay neither messages nor pushes nor the shutdown`(kind: TestDatabase) async throws {
        let folder = try TemporaryFolder()
        let identity = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        let settings = try await kind.settings(in: folder)
        try await leaveUnanswered(at: settings["storage.url"], in: folder, identity)
        let node = try RefusingNode()
        let waku = ["transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.history": "false"]
        let server = try ServerProcess.launch(in: folder, settings: settings.merging(waku) { $1 })
        let (alice, bob) = (ProtocolClient(server: identity.publicKey), ProtocolClient(server: identity.publicKey))
        let database = ServerDatabase(of: server)
        func wait(for table: String) async throws {
            try await database.wait(for: table) { count in
                try #require(server.isRunning, "\(server.log.all)")
                return count == 1
            }
        }
        node.put(try alice.envelope(alice.registration()))
        try await wait(for: "registration")
        node.put(try bob.envelope(bob.request([bob.notification(to: alice)])))
        try await wait(for: "push")
        #expect(await server.terminate() == 0, "\(server.log.all)")
        #expect(try database.unfinishedCount() == Self.unansweredCount + 2)
    }

    /// Creates the database of a server whose node was down for a while.
    ///
    /// - Parameter url: The database in PostgreSQL, or nil for one in SQLite.
    private func leaveUnanswered(at url: String?, in folder: TemporaryFolder, _ identity: PrivateKey) async throws {
        let (key, logger) = (identity.publicKey.compressed, quietLogger)
        try folder.write(testSealingKeyFile, to: "sealing.key")
        let store: any PushStore =
            if let url {
                try PostgreSQLStore(
                    PostgreSQLLocation(url: url).connection(password: nil, name: "tests"), identity: key, sealingKeys: testSealingKeys,
                    serverName: "before", logger: logger)
            } else {
                try SQLiteStore(path: folder.path("push.sqlite"), identity: key, sealingKeys: testSealingKeys, logger: logger)
            }
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
}

/// A Waku node that delivers messages and rejects publications.
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
