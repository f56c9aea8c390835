import Envelope
import Tasks

/// The pushes that a client could not send, the oldest first.
///
/// A value that neither waits nor sends.
struct UnsentPushes: Codable, Equatable, Sendable {
    /// A push to ask for again.
    struct Entry: Codable, Equatable, Sendable {
        let number: Int
        let message: PushMessage
        /// The recipients that are not notified yet.
        var recipients: [Recipient]
        let maximumDeviceCount: Int
        let askedAt: Timestamp
        var attemptCount = 0
        var nextAttempt: Timestamp

        /// Whether it is time to ask. A wait longer than any delay means that the clock was set back.
        func isDue(at now: Timestamp) -> Bool {
            let wait = now.duration(to: nextAttempt)
            return wait <= .zero || wait > maximumDelay
        }

        /// Whether the push is too old. So is a push that seems to be from the far future, which would otherwise be kept for ever.
        func isOutdated(at now: Timestamp) -> Bool {
            let age = askedAt.duration(to: now)
            return age >= lifetime || age <= .zero - lifetime
        }
    }

    /// More than a user writes offline, and little storage. A new push replaces the oldest.
    static let maximumCount = 100
    /// As long as servers keep a push.
    static let lifetime = Duration.seconds(24 * 60 * 60)
    /// Longer delays would leave a node unused for too long after its return.
    private static let maximumDelay = Duration.seconds(60 * 60)

    private(set) var entries: [Entry] = []
    private var lastNumber = 0

    /// When to try next, or nil if there is nothing to send.
    var nextAttempt: Timestamp? { entries.map(\.nextAttempt).min() }

    mutating func add(_ message: PushMessage, to recipients: [Recipient], maximumDeviceCount: Int, at now: Timestamp) {
        lastNumber &+= 1
        entries.append(
            Entry(
                number: lastNumber, message: message, recipients: recipients, maximumDeviceCount: maximumDeviceCount, askedAt: now,
                nextAttempt: now.advanced(by: Self.delay(afterAttempts: 1))))
        if entries.count > Self.maximumCount { entries.removeFirst() }
    }

    /// Returns the pushes to ask for now, and drops those that are too old.
    mutating func due(at now: Timestamp) -> [Entry] {
        entries.removeAll { $0.isOutdated(at: now) }
        return entries.filter { $0.isDue(at: now) }
    }

    /// Records an attempt.
    ///
    /// - Parameter remaining: The recipients that are still not notified.
    mutating func recordAttempt(_ number: Int, remaining: [Recipient], at now: Timestamp) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        guard !remaining.isEmpty else {
            entries.remove(at: index)
            return
        }
        entries[index].recipients = remaining
        entries[index].attemptCount &+= 1
        entries[index].nextAttempt = now.advanced(by: Self.delay(afterAttempts: entries[index].attemptCount &+ 1))
    }

    /// Grows with n attempts as 2 × n × 2^n seconds, as reference clients wait between two requests for a push.
    private static func delay(afterAttempts count: Int) -> Duration {
        let count = max(1, min(count, 16))
        return min(.seconds(2 * count * (1 << count)), maximumDelay)
    }
}
