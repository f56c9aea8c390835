package import Envelope
package import Wire

/// The age limits of backfilled messages. Live messages are never too old, whatever their timestamps say.
package enum AgeRules {
    /// Whether a backfilled message is too old to process. Registrations are never too old: their versions put them in order.
    ///
    /// - Parameter sentAt: The time by the sender's clock, or nil if the sender did not state it, which makes no message too old.
    package static func isTooOld(_ type: MessageType, sentAt: Timestamp?, now: Timestamp) -> Bool {
        guard let sentAt, let maximumAge = maximumAge(of: type) else { return false }
        return sentAt < now.advanced(by: .zero - maximumAge)
    }

    private static func maximumAge(of type: MessageType) -> Duration? {
        switch type {
        case .pushNotificationRequest: ProtocolLimits.pushLifetime
        case .pushNotificationQuery: ProtocolLimits.maximumQueryAge
        default: nil
        }
    }
}
