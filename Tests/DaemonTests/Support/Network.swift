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

    init(_ server: ServerProcess) {
        let http = HTTPClient(configuration: .init())
        entrance = WakuNode(url: "http://\(server.addresses.relays[0])", client: http)
        exit = WakuNode(url: "http://\(server.addresses.relays[1])", client: http)
        admin = AdminClient(server)
    }

    /// Returns when the server has answered 200: the message is recorded.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await entrance.publish(envelope)
    }

    /// Everything that has been said since the last time, the tests' own messages too.
    func take() async throws -> [WakuEnvelope] {
        try await exit.takeMessages(on: Self.pubsubTopic) ?? []
    }

    /// Asks until something was said that the client can open.
    func firstReply<Reply>(_ open: (WakuEnvelope) -> Reply?) async throws -> Reply {
        while true {
            for envelope in try await take() {
                if let reply = open(envelope) { return reply }
            }
        }
    }

    /// Returns when the server has decided that many messages since its start.
    func waitForDecisions(_ count: Int) async throws {
        while try await admin.metric("pushserver_messages_total") < Double(count) { await Task.yield() }
    }
}
