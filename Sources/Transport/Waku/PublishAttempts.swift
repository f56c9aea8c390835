import Envelope
import WakuREST
import Wire

/// Why an attempt to publish failed, for the metrics.
enum PublishFailure: String, CaseIterable {
    case unreachable
    /// The node gave up; the message may have been sent.
    case timedOut = "timed_out"
    /// The node did not respond in time, and another node got the message as well.
    case silent
    case quotaUsedUp = "quota_used_up"
    case refused
    case outdated

    init(_ error: NodeError) {
        switch error {
        case _ where error.isQuotaUsedUp: self = .quotaUsedUp
        case .refused(_, let text): self = text.contains("timedout") ? .timedOut : .refused
        case .unreachable, .unintelligible, .tooLarge: self = .unreachable
        }
    }
}

/// What is known of a message that a node did not take.
enum PublishAttempts {
    /// Failures in a row after which a node counts as broken: some seconds, within which one comes back from a hiccup (WAKU_REST.md §3).
    static let maximumCount = 4
    /// An archive takes no message whose timestamp is farther from its own clock (WAKU_REST.md §1.5).
    static let maximumAge = Duration.seconds(20)

    /// Whether archives would still take the envelope. One without a timestamp gets the node's.
    static func isFresh(_ envelope: WakuEnvelope, at now: Timestamp) -> Bool {
        guard let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return true }
        let timestamp = Timestamp(nanoseconds: nanoseconds)
        return now.advanced(by: .zero - maximumAge) <= timestamp && timestamp <= now.advanced(by: maximumAge)
    }

    /// Whether the reason is the node's and not the message's.
    static func mayPass(_ error: NodeError) -> Bool {
        switch error {
        case _ where error.isQuotaUsedUp: true
        case .unreachable, .unintelligible, .tooLarge: true
        case .refused(400, let text): text.contains("not subscribed")  // the poll is about to subscribe
        case .refused(let status, _): [404, 408, 429].contains(status) || status >= 500
        }
    }
}
