import Bytes
import Envelope
import Foundation
import HTTPClient
import StatusCrypto
import TestServers
import TestSupport
import WakuREST

/// Two nodes of one network in a process (`misbehavingrelay`): the server's, whose faults tests choose, and the clients'. Their addresses
/// and stores survive restarts.
struct NodeProcess: Sendable {
    struct ReadyFile: Decodable, Sendable {
        var relays: [String]
    }

    /// A fault of the server's node, which lasts until the next fault or restart.
    enum Fault {
        case none
        /// Each response contains each message ten times, in reverse order.
        case confusesOrder
        /// The node rejects messages.
        case publishesNothing
        /// The node publishes messages, but reports a failure.
        case deniesPublishing

        fileprivate var faults: RelayFaults {
            var faults = RelayFaults()
            switch self {
            case .none: break
            case .confusesOrder: (faults.copies, faults.isReversed) = (10, true)
            case .publishesNothing: faults.publishing = .timedOut
            case .deniesPublishing: faults.publishing = .timedOutButSent
            }
            return faults
        }
    }

    static let pubsubTopic = Network.pubsubTopic

    let folder: TemporaryFolder
    /// The URL of the server's node.
    let url: String
    private let server: WakuNode
    private let clients: WakuNode
    private let http = HTTPClient(configuration: .init())
    private let addresses: [String]

    init(in folder: TemporaryFolder) {
        self.folder = folder
        // The system assigns ports above this range, so no other process gets these while the nodes are down.
        let port = Int.random(in: 10_000..<15_000) * 2
        addresses = ["127.0.0.1:\(port)", "127.0.0.1:\(port + 1)"]
        url = "http://\(addresses[0])"
        server = WakuNode(url: url, client: http)
        clients = WakuNode(url: "http://\(addresses[1])", client: http)
    }

    func launch() throws -> Launched<ReadyFile> {
        try Launched(
            program: "misbehavingrelay", addresses.flatMap { ["--listen", $0] } + ["--archive", folder.path("archive")], in: folder)
    }

    /// Publishes a message at the clients' node.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await clients.publish(envelope)
    }

    /// Takes the messages that the clients' node has received since the last call.
    func take() async throws -> [WakuEnvelope] {
        try await clients.takeMessages(on: Self.pubsubTopic) ?? []
    }

    /// Returns the messages in the store of the server's node: all, or those sent since a time.
    func stored(since start: Timestamp? = nil) async throws -> [(hash: Digest32, envelope: WakuEnvelope)] {
        var query = StoreQuery()
        query.pubsubTopic = Self.pubsubTopic
        query.startTime = start
        var stored: [(hash: Digest32, envelope: WakuEnvelope)] = []
        try await server.storeMessages(query) { page in
            for row in page.rows {
                if let hash = row.digest, let envelope = row.envelope { stored.append((hash, envelope)) }
            }
        }
        return stored
    }

    func misbehave(_ fault: Fault) async throws {
        try await order("/faults", [UInt8](JSONEncoder().encode(fault.faults)))
    }

    /// Empties the cache of the server's node, like a restart between two polls.
    func forgetCache() async throws {
        try await order("/faults/restart", [])
    }

    private func order(_ path: String, _ body: [UInt8]) async throws {
        let request = HTTPRequest(
            method: .post, url: url + path, body: body, timeout: TestNode.patience, maximumResponseBodyByteCount: 1 << 16)
        let response = try await http.send(request)
        guard response.status == 200 else { throw NodeError.refused(status: response.status, text: path) }
    }
}
