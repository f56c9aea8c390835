/// How a relay misbehaves on purpose, for tests. Everything is off unless a test sets it, and nothing is left to chance: what befalls
/// some messages befalls every how-manieth one.
package struct RelayFaults: Sendable, Equatable {
    /// What a POST of a message comes to.
    package enum Publishing: String, Sendable, CaseIterable {
        case normal
        /// Nothing is sent: 400.
        case refused
        /// Nothing is sent: 500 and `timedout`.
        case timedOut
        /// 500 and `timedout`, although the message was sent (WAKU_REST.md §1.2).
        case timedOutButSent
    }

    /// Of the messages that others publish, every so manieth never reaches the node. 0: none.
    package var dropEvery = 0
    /// Every so manieth message reaches the node's store and not its cache, as if the cache had been full. 0: none.
    package var evictEvery = 0
    /// How often each message stands in the answer to a GET.
    package var copies = 1
    /// The answer to a GET is in the reverse order.
    package var isReversed = false
    /// What a message needs to reach the node, by its wall clock.
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
