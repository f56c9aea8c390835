import Concurrency
import Envelope
import WakuREST
import Wire

/// Why an attempt to publish failed, for the metrics.
enum PublishFailure: String, CaseIterable {
    case unreachable
    /// The node gave up; the message may have been sent.
    case timedOut = "timed_out"
    case refused
    case queueFull = "queue_full"
    case outdated

    init(_ error: NodeError) {
        switch error {
        case .refused(_, let text): self = text.contains("timedout") ? .timedOut : .refused
        case .unreachable, .unintelligible, .tooLarge: self = .unreachable
        }
    }
}

/// Decides whether, and when, a message that a node did not take is posted again: a value for one message.
///
/// It is posted again byte for byte: to the network that is the same message, should the first attempt have reached it
/// (WAKU_REST.md §3).
struct PublishAttempts {
    /// One and three more (WAKU_REST.md §3): some seconds, within which a node comes back from a hiccup.
    static let maximumCount = 4
    static let backOff = BackOff(first: .milliseconds(500), longest: .seconds(2), minimumShare: 0.5)
    /// An archive takes no message whose timestamp is farther from its own clock (WAKU_REST.md §1.5).
    static let maximumAge = Duration.seconds(20)

    private var failureCount = 0

    /// Whether archives would still take the envelope. One without a timestamp gets the node's.
    static func isFresh(_ envelope: WakuEnvelope, at now: Timestamp) -> Bool {
        guard let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return true }
        let timestamp = Timestamp(nanoseconds: nanoseconds)
        return now.advanced(by: .zero - maximumAge) <= timestamp && timestamp <= now.advanced(by: maximumAge)
    }

    /// - Parameter jitter: random, 0 up to 1: many servers must not come back to a node at the same moment.
    /// - Returns: what to wait before the same message is posted again; nil when it is not.
    mutating func delay(after error: NodeError, jitter: Double) -> Duration? {
        failureCount += 1
        guard failureCount < Self.maximumCount, Self.mayPass(error) else { return nil }
        return Self.backOff.delay(afterFailures: failureCount, jitter: jitter)
    }

    /// Whether the reason is the node's and not the message's.
    static func mayPass(_ error: NodeError) -> Bool {
        switch error {
        case .unreachable, .unintelligible, .tooLarge: true
        case .refused(400, let text): text.contains("not subscribed")  // the poll is about to subscribe
        case .refused(let status, _): [404, 408, 429].contains(status) || status >= 500
        }
    }
}

/// Bounds what waits to be published: a value.
struct PublishBacklog {
    /// Beyond some hundred the last one would wait longer than an archive accepts (`PublishAttempts.maximumAge`).
    static let maximumCount = 1_024
    /// A thousand replies of the largest size would take a gigabyte.
    static let maximumByteCount = 64 << 20

    private(set) var count = 0
    private var byteCount = 0

    /// - Throws: `queueFull`.
    mutating func enter(_ envelope: WakuEnvelope) throws(TransportError) {
        let size = envelope.message.payload.count
        guard count < Self.maximumCount, byteCount + size <= Self.maximumByteCount || count == 0 else { throw .queueFull }
        count += 1
        byteCount += size
    }

    mutating func leave(_ envelope: WakuEnvelope) {
        count -= 1
        byteCount -= envelope.message.payload.count
    }
}
