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
        case quotaExhausted
        /// The node reads the message, publishes nothing, and does not respond until the fault ends.
        case silent
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
    private let state = Condition((faults: RelayFaults(), relay: FaultyMember?.none))
    private let silentPostCount = Condition(0)

    package init() {}

    package var faults: RelayFaults {
        get { state.read { $0.faults } }
        set { state.change { $0.faults = newValue } }
    }

    /// As a restart: subscriptions and cache are lost, the store is kept, and the node has another peer id. It does not close its port.
    package func restart() throws { try state.read { $0.relay }?.restart() }

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
