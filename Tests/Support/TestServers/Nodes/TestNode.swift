package import Envelope
import Foundation
package import HTTPClient
import ServiceLifecycle
import Tasks
import TestSupport
package import Transport
package import WakuREST

/// A node under test, accessed over HTTP only: the embedded relay, or a real node at `WAKU_NODE_URL`.
///
/// Start the real node, of version 0.39 or later, with `logosdeliverynode --entry-layer=kernel --cluster-id=16 --num-shards-in-network=0
/// --shard=32 --relay=true --rest=true --store=true`.
package struct TestNode: Sendable {
    /// The shard that a node under test is subscribed to from its start. A real node gets it by `--shard=32 --cluster-id=16`.
    package static let topic = "/waku/2/rs/16/32"
    /// A second shard, for tests of several.
    package static let secondTopic = "/waku/2/rs/16/33"
    package static let path = "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F32"
    /// The time-out of requests, as a safety net. No machine is slow enough to reach it.
    package static let patience = Duration.seconds(600)
    package static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    package let url: String
    package let clock: WallClock
    private let http = HTTPClient()

    package struct Answer: Equatable, Sendable {
        package var status: Int
        package var body: String
        package var contentType: String?
        package var connection: String?

        package init(status: Int, body: String, contentType: String? = nil, connection: String? = nil) {
            self.status = status
            self.body = body
            self.contentType = contentType
            self.connection = connection
        }
    }

    /// The client of our programs for this node, with the time-out of the tests.
    package var wakuNode: WakuNode { wakuNode(at: "") }

    package func wakuNode(at path: String) -> WakuNode {
        WakuNode(url: url + path, client: http, commandTimeout: Self.patience, readTimeout: Self.patience)
    }

    package func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, contentType: String? = "application/json"
    ) async throws -> Answer {
        let headers = body == nil ? [] : [(name: "Content-Type", value: contentType ?? "")]
        let response = try await http.send(
            HTTPRequest(
                method: method, url: url + path, headers: headers, body: body.map { Array($0.utf8) }, timeout: Self.patience,
                connectTimeout: Self.patience, maximumResponseBodyByteCount: 32 << 20))
        return Answer(
            status: response.status, body: String(decoding: response.body, as: UTF8.self), contentType: response.headers["content-type"],
            connection: response.headers["connection"])
    }

    /// Opens a TCP connection to the node.
    package func connect() throws -> RawConnection {
        guard let port = url.split(separator: ":").last.flatMap({ Int($0) }) else { throw POSIXError(.EINVAL) }
        return try RawConnection(to: port)
    }

    package func get(_ path: String) async throws -> Answer { try await send(.get, path) }

    package func post(_ path: String, _ body: String?, contentType: String? = "application/json") async throws -> Answer {
        try await send(.post, path, body, contentType: contentType)
    }

    /// Publishes a message and requires that the node accepts it.
    ///
    /// - Returns: The timestamp of the message.
    @discardableResult
    package func publish(
        _ payload: String = "AQID", on contentTopic: String, sent delay: Duration = .zero, more: String = ""
    ) async throws -> Int64 {
        let timestamp = clock.now().advanced(by: delay).nanoseconds
        let answer = try await post(
            Self.path, #"{"payload":"\#(payload)","contentTopic":"\#(contentTopic)","version":1,"timestamp":\#(timestamp)\#(more)}"#)
        guard answer.status == 200 else { throw Refused(answer: answer) }
        return timestamp
    }

    package struct Refused: Error { package var answer: Answer }
}

/// Runs the test against the node at `WAKU_NODE_URL` if that is set, or else against a new relay.
package func withNode(_ test: (TestNode) async throws -> Void) async throws {
    if let url = ProcessInfo.processInfo.environment["WAKU_NODE_URL"] {
        try await realNodeUse.acquire()
        defer { realNodeUse.release() }
        try await test(realNode(url))
    } else {
        try await withRelay { node in try await test(node) }
    }
}

/// Admits one test at a time: tests of a real node share its cache.
private let realNodeUse = ConcurrencyLimiter(limit: 1)

private func realNode(_ url: String) async throws -> TestNode {
    let node = TestNode(url: url, clock: WallClock { Timestamp(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e6) * 1000) })
    _ = try await node.get(TestNode.path)  // Discard the messages of earlier tests.
    return node
}

/// Runs a relay during the test.
///
/// - Parameter control: The control of its faults.
package func withRelay(
    _ configuration: RelayServer.Configuration = .init(pubsubTopics: [TestNode.topic]), on bus: Bus = Bus(),
    clock: WallClock = ManualWallClock(TestNode.start).clock, control: RelayControl? = nil,
    _ test: (TestNode) async throws -> Void
) async throws {
    try await withListeningService { onListening in
        if let control {
            MisbehavingRelay(
                configuration: configuration, bus: bus, clock: clock, control: control, logger: quietLogger, onListening: onListening)
        } else {
            RelayServer(configuration: configuration, bus: bus, clock: clock, logger: quietLogger, onListening: onListening)
        }
    } _: { url in
        try await test(TestNode(url: url, clock: clock))
    }
}
