import Bytes
import Envelope
import Store

/// The devices to which attempts are in flight.
///
/// A suspected device gets a single attempt at a time. A delivery proves that a device is alive, even if attempts that were posted before
/// its response are refused. Times are from ``SteadyTime``.
struct TargetsInFlight: Sendable {
    private struct Attempts {
        var count = 0
        var deliveredAt: Timestamp?
        var wasRefused = false
    }

    private var attempts: [Digest32: Attempts] = [:]

    func contains(_ target: Digest32) -> Bool { attempts[target] != nil }

    mutating func begin(_ target: Digest32) { attempts[target, default: Attempts()].count += 1 }

    /// Records that an attempt has ended.
    ///
    /// - Returns: Whether a push was delivered to the device since the attempt was posted, and whether a push was refused while attempts
    ///   were in flight.
    mutating func end(_ attempt: PushAttempt) -> (isOvertaken: Bool, wasRefused: Bool) {
        let target = attempt.push.targetDigest
        guard var ended = attempts[target] else { return (false, false) }
        let result = (isOvertaken: ended.deliveredAt.map { attempt.postedAt <= $0 } ?? false, wasRefused: ended.wasRefused)
        ended.count -= 1
        if case .sent = attempt.outcome { ended.deliveredAt = attempt.answeredAt }
        if attempt.outcome.isDeviceRefusal { ended.wasRefused = true }
        attempts[target] = ended.count > 0 ? ended : nil
        return result
    }
}
