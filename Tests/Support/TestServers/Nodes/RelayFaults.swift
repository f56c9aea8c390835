package import Envelope
import TestSupport

/// The faults of a relay, which are deterministic: a fault of some messages affects every n-th one.
package struct RelayFaults: Codable, Sendable, Equatable {
    /// The result of a POST of a message.
    package enum Publishing: String, Codable, Sendable {
        case normal
        /// The node publishes nothing and returns 400.
        case refused
        /// The node publishes nothing and returns 500 with `timedout`.
        case timedOut
        /// The node publishes the message, but returns 500 with `timedout` (WAKU_REST.md §1.2).
        case timedOutButSent
        /// The node publishes nothing: RLN permits no more messages in this epoch (WAKU_REST.md §1.2).
        case quotaExhausted
        /// The node reads the message, publishes nothing, and does not respond until the fault ends.
        case silent
    }

    /// The interval of lost messages: every n-th message does not reach the node, including its own. 0 means none.
    package var dropEvery = 0
    /// The interval of evicted messages: every n-th message is in the node's store but in no response to a GET, as with a full cache. 0
    /// means none.
    package var evictEvery = 0
    /// The number of copies of each message in the response to a GET.
    package var copies = 1
    /// Whether the response to a GET is in the reverse order.
    package var isReversed = false
    /// How far the node's clock is ahead. Its store refuses messages that are more than 20 s off.
    package var clockOffset = Duration.zero
    /// The delay of other nodes' messages, by the node's wall clock.
    package var delay = Duration.zero
    /// Whether a GET takes messages from the cache, but its connection closes before the response.
    package var losesAnswers = false
    /// Whether the node behaves as during its start: it has neither relay nor store yet.
    package var isNotReady = false
    /// The text of a 404 to each request for messages, as of a proxy in front of the node.
    package var notFound: String?
    /// The state of the node in its health check.
    package var health = "READY"
    /// Whether the node has peers. Without any, it accepts messages, keeps them in its own store and cache, and passes them to nobody.
    package var hasPeers = true
    /// Whether its health check says that it has peers. A test that sets it later than `hasPeers` has a check that lags: the node writes
    /// messages to dead connections, and drops the same bytes for two minutes (WAKU_REST.md §1.2).
    package var reportsPeers = true
    /// Whether the node runs with `--relay=false`.
    package var hasNoRelay = false
    /// Whether the node runs without `--store`, and gets its history from a peer.
    package var asksPeersStore = false
    /// Whether the node runs without `--store`, and no peer has a store.
    package var hasNoStore = false
    /// Whether the node can reach any peer's store, which has what its own has.
    package var hasStoreOfPeer = false
    /// Whether the store responds, but keeps nothing.
    package var keepsNothing = false
    /// Whether the store responds to a cursor with an empty page, as if it were the last one.
    package var losesItsWay = false
    package var publishing = Publishing.normal
    /// Whether the node speaks go-waku's dialect (WAKU_REST.md §1).
    package var isGoWaku = false

    package init() {}
}

/// The control by which a test sets a relay's faults, before it runs and while it does.
package final class RelayControl: Sendable {
    private let state = Condition((faults: RelayFaults(), relay: FaultyMember?.none))
    private let silentPostCount = Condition(0)

    package init() {}

    package var faults: RelayFaults {
        get { state.read { $0.faults } }
        set { state.change { $0.faults = newValue } }
    }

    /// Simulates a restart: the relay loses subscriptions and cache, keeps the store and gets another peer id. Its port stays open.
    package func restart() throws { try state.read { $0.relay }?.restart() }

    /// Adds a message of any age to the store, as `--store-sync` does. The relay does not deliver it.
    package func synchronize(_ envelope: WakuEnvelope) { state.read { $0.relay }?.synchronize(envelope) }

    /// Waits until this many POSTs have reached the relay while it was silent.
    package func waitForSilentPosts(_ count: Int) async { await silentPostCount.wait { $0 >= count } }

    func attach(_ relay: FaultyMember) { state.change { $0.relay = relay } }

    func detach() { state.change { $0.relay = nil } }

    /// Holds a POST until the relay is no longer silent, or the task is cancelled.
    func holdWhileSilent() async {
        guard faults.publishing == .silent else { return }
        silentPostCount.change { $0 += 1 }
        await state.wait { $0.faults.publishing != .silent }
    }
}
