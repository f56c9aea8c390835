import Envelope
import Foundation
import Relay
import Synchronization
import TestSupport

/// A Waku node that only carries: gives out the messages that it was told of, counts those that are published, and costs little beside the
/// server that is measured. Connections and answers are as its kind of node has them (WAKU_REST.md §0, §1.2).
final class StandInNode: Sendable {
    enum Kind: String, CaseIterable {
        /// Takes one POST at a time, each for as long as ``publishingTime``, and closes each connection.
        case nwaku
        /// Takes several at a time, over connections that it keeps.
        case goWaku = "go-waku"

        fileprivate var success: String { self == .nwaku ? "OK" : "true" }
    }

    /// How long an nwaku hears nobody else while it publishes. No measure of a real one: so long that the node is what bounds the rate, and
    /// not the processors, which the server, the stand-in and gorush share.
    private static let publishingTime = Duration.milliseconds(2)
    private static let health = #"{"nodeHealth":"READY","protocolsHealth":[{"Relay":"READY"}]}"#

    private struct State {
        /// JSON of messages that nobody has taken.
        var waiting: [String] = []
        var publishedCount = 0
    }

    let kind: Kind
    private let state = Mutex(State())
    /// Held while an nwaku publishes.
    private let publishing = Mutex(())

    init(_ kind: Kind) {
        self.kind = kind
    }

    /// Serves until the process ends.
    ///
    /// - Returns: its URL.
    func listen() throws -> String {
        let server = try RawServer { [self] connection in
            while let request = connection.readRequestLine() {
                connection.respond(body: answer(request), isLast: kind == .nwaku)
                if kind == .nwaku { return }
            }
        }
        return server.url
    }

    /// A message as a GET brings it.
    static func text(_ envelope: WakuEnvelope) -> String {
        String(NodeResponse.messages([envelope.message]).dropFirst().dropLast())
    }

    /// Messages of the network, which the next GETs bring.
    ///
    /// - Parameter texts: made beforehand, for that costs the processors that are measured.
    func carry(_ texts: some Sequence<String>) {
        state.withLock { $0.waiting += texts }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }
    /// POSTs of messages so far.
    var publishedCount: Int { state.withLock { $0.publishedCount } }

    private func answer(_ request: String) -> String {
        if request.hasPrefix("POST /relay/v1/messages") {
            if kind == .nwaku { publishing.withLock { _ in Thread.sleep(forTimeInterval: Self.publishingTime.seconds) } }
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
