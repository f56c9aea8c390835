import Envelope
import Foundation
import HTTPClient
import TestSupport
import Transport

/// The network of a running server, by HTTP: messages go in at its first relay, and what is said comes out at the second, whose cache is
/// this reader's alone.
struct Network: Sendable {
    static let pubsubTopic = "/waku/2/rs/16/32"

    let http: HTTPClient
    private let entrance: WakuNode
    private let exit: WakuNode
    private let server: ServerProcess

    init(_ server: ServerProcess) {
        http = HTTPClient(configuration: .init())
        entrance = WakuNode(url: "http://\(server.addresses.relays[0])", client: http)
        exit = WakuNode(url: "http://\(server.addresses.relays[1])", client: http)
        self.server = server
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

    /// A sample of the server's metrics: the sum over all series of that name.
    func metric(_ name: String) async throws -> Double {
        let text = try await get("/metrics").body
        return text.split(separator: "\n").filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    /// Returns when the server has decided that many messages since its start.
    func waitForDecisions(_ count: Int) async throws {
        while try await metric("pushserver_messages_total") < Double(count) { await Task.yield() }
    }

    /// From the admin endpoints.
    func get(_ path: String) async throws -> (status: Int, body: String) {
        let response = try await http.send(
            HTTPRequest(
                method: .get, url: "http://\(server.addresses.admin)\(path)", timeout: .seconds(10), maximumResponseBodyByteCount: 1 << 20))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }
}
