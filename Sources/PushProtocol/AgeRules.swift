package import Envelope
package import Wire

/// How old a message may be that was caught up from a node's history. One that arrives live is not old, whatever its timestamp says.
package enum AgeRules {
    /// Whether there is no use any more in the message. Registrations are never too old: their versions put them in order.
    ///
    /// - Parameter sentAt: by the sender's clock; nil when the sender did not say, which makes no message old.
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
