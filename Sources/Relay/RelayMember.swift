import Envelope
import Synchronization
import Transport

/// A node's state, shared by its connections and the bus.
final class RelayMember: BusListener {
    private let node: Mutex<RelayNode>
    private let clock: WallClock

    init(configuration: RelayServer.Configuration, clock: WallClock) {
        let node = RelayNode(
            identity: RelayNode.Identity(listenAddress: "", version: RelayServer.version), pubsubTopics: configuration.pubsubTopics,
            cacheCapacity: configuration.cacheCapacity, maximumMessageByteCount: configuration.maximumMessageByteCount)
        self.node = Mutex(node)
        self.clock = clock
    }

    /// Makes up a peer id, another at each start, as of a node without `--nodekey` (WAKU_REST.md §1.1).
    func isListening(host: String, port: Int) {
        let base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
        let peerID = "16Uiu2HAm" + String((0..<44).compactMap { _ in base58.randomElement() })
        let family = host.contains(":") ? "ip6" : "ip4"
        node.withLock { $0.identity.listenAddress = "/\(family)/\(host)/tcp/\(port)/p2p/\(peerID)" }
    }

    func hear(_ envelope: WakuEnvelope) {
        let hash = envelope.hash
        node.withLock { $0.hear(envelope, hash: hash, now: clock.now()) }
    }

    func handle(_ request: RelayRequest) -> RelayNode.Step {
        node.withLock { $0.handle(request, now: clock.now()) }
    }
}
