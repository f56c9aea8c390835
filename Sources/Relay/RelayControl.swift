import Synchronization

/// The strings on which a test holds a running relay.
package final class RelayControl: Sendable {
    private struct State {
        var faults = RelayFaults()
        var member: RelayMember?
    }

    private let state = Mutex(State())

    package init() {}

    package var faults: RelayFaults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// The node forgets the subscriptions that it got over HTTP, and what it keeps for them.
    package func loseSubscriptions() { member?.loseSubscriptions() }

    /// As a restart: subscriptions and cache are lost, the store is kept, and the node has another peer id. It does not close its port.
    package func restart() { member?.restart() }

    /// The store loses everything, as a node does that was started with another database.
    package func forgetStore() { member?.forgetStore() }

    private var member: RelayMember? { state.withLock { $0.member } }

    func attach(_ member: RelayMember) { state.withLock { $0.member = member } }

    func detach() { state.withLock { $0.member = nil } }
}
