import Envelope
import Foundation
import Synchronization
import TestServers
import TestSupport
import Transport

/// A stand-in for a Waku node that only carries messages: it delivers given messages and counts the published ones. Compared with the
/// measured server, it costs little. Connections and responses are those of its kind of node (WAKU_REST.md §0, §1.2).
final class StandInNode: Sendable {
    enum Kind: String, CaseIterable {
        /// A node that accepts one POST at a time, each for ``publishingTime``, and closes each connection.
        case nwaku
        /// A node that accepts several POSTs at a time, over connections that it keeps open.
        case goWaku = "go-waku"

        fileprivate var success: String { self == .nwaku ? "OK" : "true" }
    }

    /// The time for which a publishing nwaku ignores other requests. The value is not a measurement of a real node. With this value, the
    /// node limits the rate, instead of the processors, which the server, the stand-in and gorush share.
    private static let publishingTime = Duration.milliseconds(2)
    /// How much longer a message takes if the cache is full, because a node copies its cache for each message (WAKU_REST.md §2.1).
    private static let fullCacheTime = Duration.microseconds(3_050)
    private static let fullCacheCount = 4_096
    private static let health = #"{"nodeHealth":"READY","protocolsHealth":[{"Relay":"READY"}]}"#

    private struct State {
        /// The JSON of messages that no GET has taken.
        var waiting: [String] = []
        var publishedCount = 0
    }

    let kind: Kind
    private let state = Mutex(State())
    /// The lock that a publishing nwaku holds.
    private let publishing = Mutex(())

    init(_ kind: Kind) {
        self.kind = kind
    }

    /// Listens until the process exits.
    ///
    /// - Returns: The node's URL.
    func listen() throws -> String {
        let server = try RawServer { [self] connection in
            while let request = connection.readRequestLine() {
                connection.respond(body: answer(request), isLast: kind == .nwaku)
                if kind == .nwaku { return }
            }
        }
        return server.url
    }

    /// Returns a message in the format of a GET's response.
    static func text(_ envelope: WakuEnvelope) -> String {
        String(NodeResponse.messages([envelope.message]).dropFirst().dropLast())
    }

    /// Adds messages of the network, which the next GETs deliver.
    ///
    /// - Parameter texts: The messages, made before the measurement, because that costs processor time.
    func carry(_ texts: some Sequence<String>) {
        state.withLock { $0.waiting += texts }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }
    /// The number of POSTs of messages so far.
    var publishedCount: Int { state.withLock { $0.publishedCount } }

    private static func time(cachedCount: Int) -> Duration {
        publishingTime + fullCacheTime * min(cachedCount, fullCacheCount) / fullCacheCount
    }

    private func answer(_ request: String) -> String {
        if request.hasPrefix("POST /relay/v1/messages") {
            if kind == .nwaku { publishing.withLock { _ in Thread.sleep(forTimeInterval: Self.time(cachedCount: waitingCount).seconds) } }
            state.withLock { $0.publishedCount += 1 }
            return kind.success
        }
        if request.hasPrefix("GET /relay/v1/messages") {
            let taken = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            return "[" + taken.joined(separator: ",") + "]"
        }
        return request.hasPrefix("GET /health") ? Self.health : kind.success
    }
}
