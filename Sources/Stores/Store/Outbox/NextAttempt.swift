package import Envelope

/// When an open push is attempted next, as the column `next_attempt_at` of its row says.
///
/// One column has four kinds of values, so that one index holds a queue in its order. Where a statement needs a bound, it interpolates the
/// value.
package struct NextAttempt: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// At once: a lease ended without an attempt, or a start or a takeover made the push due.
    package static let now = NextAttempt(rawValue: 0)
    /// The first attempt, in its round of the ``OutboxFairQueue``: 1 or more.
    package static func round(_ number: Int64) -> NextAttempt { NextAttempt(rawValue: number) }
    /// Not before a time.
    package static func time(_ time: Timestamp) -> NextAttempt { NextAttempt(rawValue: time.nanoseconds) }
    /// Not as long as the push is leased or set aside.
    package static let held = NextAttempt(rawValue: .max)

    /// What is below is a round, or due at once. No stored time is: it would be in January 1970.
    package static let firstTime = NextAttempt(rawValue: 1 << 50)
    package static let firstRound = round(1)
    package static let lastRound = round(firstTime.rawValue - 1)

    /// The round, or nil for another kind of value.
    package var round: Int64? { self >= .firstRound && self <= .lastRound ? rawValue : nil }

    /// The time, or nil for another kind of value.
    package var time: Timestamp? { self >= .firstTime && self < .held ? Timestamp(nanoseconds: rawValue) : nil }

    package static func < (left: NextAttempt, right: NextAttempt) -> Bool { left.rawValue < right.rawValue }

    /// The number, for the text of a statement.
    package var description: String { "\(rawValue)" }
}

extension NextAttempt: StoredInteger, RawRepresentable {}
