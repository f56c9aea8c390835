import Synchronization

/// How a relay misbehaves on purpose. Nothing is left to chance: what befalls some messages befalls every how-manieth one.
package struct RelayFaults: Codable, Sendable, Equatable {
    /// What a POST of a message comes to.
    package enum Publishing: String, Codable, Sendable {
        case normal
        /// Nothing is sent: 400.
        case refused
        /// Nothing is sent: 500 and `timedout`.
        case timedOut
        /// 500 and `timedout`, although the message was sent (WAKU_REST.md §1.2).
        case timedOutButSent
        /// Nothing is sent: RLN lets the node send no more in this epoch (WAKU_REST.md §1.2).
        case quotaUsedUp
    }

    /// Every so manieth message never reaches the node, its own among them. 0: none.
    package var dropEvery = 0
    /// Every so manieth message is in the node's store and in no answer to a GET, as if the cache had been full. 0: none.
    package var evictEvery = 0
    /// How often each message stands in the answer to a GET.
    package var copies = 1
    /// The answer to a GET is in the reverse order.
    package var isReversed = false
    /// What others' messages need to reach the node, by its wall clock.
    package var delay = Duration.zero
    /// A GET of messages takes them from the cache, and the connection ends before the answer.
    package var losesAnswers = false
    /// As a node that is starting, for ever: its relay and its store are not there.
    package var isNotReady = false
    /// As a node without `--store`.
    package var hasNoStore = false
    package var publishing = Publishing.normal
    /// Speaks go-waku's dialect (WAKU_REST.md §1).
    package var isGoWaku = false

    package init() {}
}

/// The strings on which a test holds a relay, before it runs and while it does.
package final class RelayControl: Sendable {
    private let state = Mutex((faults: RelayFaults(), relay: FaultyMember?.none))

    package init() {}

    package var faults: RelayFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// As a restart: subscriptions and cache are lost, the store is kept, and the node has another peer id. It does not close its port.
    package func restart() throws { try state.withLock { $0.relay }?.restart() }

    func attach(_ relay: FaultyMember) { state.withLock { $0.relay = relay } }

    func detach() { state.withLock { $0.relay = nil } }
}
