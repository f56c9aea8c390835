import Envelope
import Foundation
import HTTPClient
import TestSupport
import WakuREST

/// The network of a running server, by HTTP: messages go in at its first relay, and what is said comes out at the second, whose cache is
/// this reader's alone.
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

    /// Returns when the server has answered 200: the message is recorded.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await entrance.publish(envelope)
    }

    /// Everything that has been said since the last time, the tests' own messages too.
    func take() async throws -> [WakuEnvelope] {
        try await exit.takeMessages(on: Self.pubsubTopic) ?? []
    }

    /// Returns the first thing said that the client can open.
    func firstReply<Reply>(_ open: (WakuEnvelope) -> Reply?) async throws -> Reply {
        var reply: Reply?
        try await listen { said in
            for envelope in said where reply == nil { reply = open(envelope) }
            return reply != nil
        }
        guard let reply else { throw CancellationError() }
        return reply
    }

    /// Gives what has been said since the last time, at once and whenever there may be more, until it is enough. The server writes down
    /// that a reply is out when it is.
    func listen(until isEnough: ([WakuEnvelope]) -> Bool) async throws {
        try await FolderWatch(folder.path("")).wait { try await isEnough(take()) }
    }

    /// Returns when the server has decided so many messages in all, and all replies are out.
    func waitForDecisions(_ count: Int) async throws {
        try await database.wait(for: "message WHERE decided_at IS NOT NULL") { $0 >= count }
        try await database.waitUntilFinished()
    }
}
