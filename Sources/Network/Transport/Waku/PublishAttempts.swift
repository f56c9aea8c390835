import Envelope
import MetricDeclarations
import WakuREST
import Wire

/// The reason why an attempt to publish failed, for the metrics.
enum PublishFailure: String, MetricLabels {
    case unreachable
    /// The node timed out. It may have sent the message.
    case timedOut = "timed_out"
    /// The node did not respond in time, and another node got the message as well.
    case silent
    case quotaExhausted = "quota_exhausted"
    case rejected
    case outdated
    /// No node had a peer, so the message was not posted, or was dropped by the node.
    case noPeers = "no_peers"

    static let labelNames = ["reason"]

    init(_ error: NodeError) {
        switch error {
        case _ where error.isQuotaExhausted: self = .quotaExhausted
        case .refused(_, let text): self = text.contains("timedout") ? .timedOut : .rejected
        case .unreachable, .noRelay, .unintelligible, .tooLarge: self = .unreachable
        }
    }
}

/// The rules about messages that a node did not accept.
enum PublishAttempts {
    /// The number of consecutive failures after which a node counts as failed: a few seconds, in which a node recovers from a short
    /// disturbance (WAKU_REST.md §3).
    static let maximumCount = 4
    /// The maximum difference between a message's timestamp and an archive's clock (WAKU_REST.md §1.5).
    static let maximumAge = Duration.seconds(20)

    /// Whether archives would still keep the envelope. If an envelope lacks a timestamp, the node sets it.
    static func isFresh(_ envelope: WakuEnvelope, at now: Timestamp) -> Bool {
        guard let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return true }
        let timestamp = Timestamp(nanoseconds: nanoseconds)
        return now.advanced(by: .zero - maximumAge) <= timestamp && timestamp <= now.advanced(by: maximumAge)
    }
}
