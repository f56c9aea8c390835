import Envelope
import Foundation
import HTTPClient
import StatusCrypto
import TestSupport
import WakuREST

/// Two nodes of one network as a process of their own (`misbehavingrelay`), which keep their addresses and what they store through all
/// its lives: the server's, which can be told to misbehave, and the clients'.
struct NodeProcess: Sendable {
    struct ReadyFile: Decodable, Sendable {
        var relays: [String]
    }

    /// How the server's node misbehaves until it is told otherwise or restarted.
    enum Fault {
        case none
        /// Every answer has each message ten times, the last one first.
        case confusesOrder
        /// It takes no message.
        case publishesNothing
        /// It takes messages, and says that it did not.
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
    /// The server's node.
    let url: String
    private let server: WakuNode
    private let clients: WakuNode
    private let http = HTTPClient(configuration: .init())
    private let addresses: [String]

    init(in folder: TemporaryFolder) {
        self.folder = folder
        // Below the ports that the system gives out, so that nobody gets them while the process is away.
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

    /// Publishes at the clients' node.
    func publish(_ envelope: WakuEnvelope) async throws {
        try await clients.publish(envelope)
    }

    /// What the clients' node has heard since the last time.
    func take() async throws -> [WakuEnvelope] {
        try await clients.takeMessages(on: Self.pubsubTopic) ?? []
    }

    /// All that the server's node still holds, or what was sent since a moment.
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

    /// The server's node loses its cache, as one that was restarted between two polls.
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
