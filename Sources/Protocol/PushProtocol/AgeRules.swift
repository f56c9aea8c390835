package import Envelope
package import Wire

/// The age limits of messages that were backfilled, or waited in the journal while the store was away. Other live messages are never too
/// old, whatever their timestamps say.
package enum AgeRules {
    /// Whether a message is too old to process. Registrations are never too old: their versions put them in order.
    ///
    /// - Parameter start: The time from which the message ages: the sender's of a backfilled message, the arrival of one that has waited,
    ///   or nil if the sender did not state it, which makes no message too old.
    package static func isTooOld(_ type: MessageType, since start: Timestamp?, now: Timestamp) -> Bool {
        guard let start, let maximumAge = maximumAge(of: type) else { return false }
        return start < now.advanced(by: .zero - maximumAge)
    }

    private static func maximumAge(of type: MessageType) -> Duration? {
        switch type {
        case .pushNotificationRequest: ProtocolLimits.pushLifetime
        case .pushNotificationQuery: ProtocolLimits.maximumQueryAge
        default: nil
        }
    }
}
