package import Envelope

/// When an open push is attempted next, as the column `next_attempt_at` of its row says. Where a statement needs a bound, it interpolates
/// the value.
package struct NextAttempt: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// At once.
    package static let now = NextAttempt(rawValue: 0)
    /// Not before a time.
    package static func time(_ time: Timestamp) -> NextAttempt { NextAttempt(rawValue: time.nanoseconds) }
    /// Not as long as the push is set aside, or leased by a server of 0.3.
    package static let held = NextAttempt(rawValue: .max)

    /// What is below means at once: 0, or a turn that a server of 0.3 has given. No stored time is: it would be in January 1970.
    package static let firstTime = NextAttempt(rawValue: 1 << 50)

    /// The time, or nil for another kind of value.
    package var time: Timestamp? { self >= .firstTime && self < .held ? Timestamp(nanoseconds: rawValue) : nil }

    package static func < (left: NextAttempt, right: NextAttempt) -> Bool { left.rawValue < right.rawValue }

    /// The number, for the text of a statement.
    package var description: String { "\(rawValue)" }
}

extension NextAttempt: StoredInteger, RawRepresentable {}
