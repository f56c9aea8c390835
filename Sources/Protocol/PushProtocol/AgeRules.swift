package import Envelope
package import Wire

/// The age limits of messages that were backfilled, or waited in the journal while the store was away. Other live messages are never too
/// old, whatever their timestamps say.
package enum AgeRules {
    /// Whether a message is too old to process. Registrations are never too old: their versions put them in order.
    ///
    /// - Parameter start: When the message started to age: the sender's time for a backfilled message, or the arrival of a message that has
    ///   waited. Nil if the sender did not state a time, and then no message is too old.
    package static func isTooOld(_ type: MessageType, since start: Timestamp?, now: Timestamp) -> Bool {
        guard let start, let maximumAge = maximumAge(of: type) else { return false }
        return start < now.advanced(by: .zero - maximumAge)
    }

    /// Judges the age of a message as ``isTooOld(_:since:now:)`` does, as far as the clock is not in doubt.
    package static func age(_ type: MessageType, since start: Timestamp?, at reading: ClockReading) -> ClockAge {
        guard isTooOld(type, since: start, now: reading.stamp) else { return .young }
        return reading.isHeld ? .doubtful : .over
    }

    private static func maximumAge(of type: MessageType) -> Duration? {
        switch type {
        case .pushNotificationRequest: ProtocolLimits.pushLifetime
        case .pushNotificationQuery: ProtocolLimits.maximumQueryAge
        default: nil
        }
    }
}
