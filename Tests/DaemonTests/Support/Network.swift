import Envelope
import Foundation
import HTTPClient
import TestSupport
import WakuREST

/// The network of a running server, over HTTP. The tests publish at its first relay and take messages from the second, whose cache no other
/// client reads.
struct Network: Sendable {
    static let pubsubTopic = "/waku/2/rs/16/32"

    private let entrance: WakuNode
    private let exit: WakuNode
    let admin: AdminClient
    let database: ServerDatabase
    private let folder: TemporaryFolder

    init(_ server: ServerProcess) {
        let http = HTTPClient(configuration: .init())
        entrance = WakuNode(url: "http://\(server.addresses.relays[0])", client: http)
        exit = WakuNode(url: "http://\(server.addresses.relays[1])", client: http)
        admin = AdminClient(server)
        folder = server.folder
        database = ServerDatabase(of: server)
    }

    /// Publishes a message. The server has responded with 200 and recorded the message when this returns.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await entrance.publish(envelope)
    }

    /// Returns all messages since the last call, including the tests' own.
    func take() async throws -> [WakuEnvelope] {
        try await exit.takeMessages(on: Self.pubsubTopic) ?? []
    }

    /// Returns the first reply that the client can open.
    func firstReply<Reply>(_ open: (WakuEnvelope) -> Reply?) async throws -> Reply {
        var reply: Reply?
        try await listen { said in
            for envelope in said where reply == nil { reply = open(envelope) }
            return reply != nil
        }
        guard let reply else { throw CancellationError() }
        return reply
    }

    /// Passes the messages since the last call, at once and after each change of the folder, until they are enough. The server's
    /// publication marks change the folder.
    func listen(until isEnough: ([WakuEnvelope]) -> Bool) async throws {
        try await FolderWatch(folder.path("")).wait { try await isEnough(take()) }
    }

    /// Waits until the server has decided this number of messages in total, and has published all replies.
    func waitForDecisions(_ count: Int) async throws {
        try await database.wait(for: "message WHERE decided_at IS NOT NULL") { $0 >= count }
        try await database.waitUntilFinished()
    }
}
