package import Envelope

/// The days on which the server could deliver, in the time of UTC. Ages of months are counted in them: what nobody could use while the
/// server was away, or while its clock was wrong, is not unused.
package enum DeliveringDays {
    private static let secondsPerDay: Int64 = 86_400
    /// At least so many registrations and devices may be removed on a day as unused.
    private static let minimumBudget = 100
    /// Which part of those that were ever delivered to may be removed on a day as unused. A mistake is noticed before many are gone.
    private static let budgetShare = 100

    /// Returns the number of a time's day, counted from 1970.
    package static func day(of time: Timestamp) -> Int64 {
        let nanosecondsPerDay = secondsPerDay * 1_000_000_000
        let (day, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: nanosecondsPerDay)
        return rest < 0 ? day - 1 : day
    }

    /// Returns when a day began.
    package static func start(of day: Int64) -> Timestamp {
        let (seconds, isBeyond) = day.multipliedReportingOverflow(by: secondsPerDay)
        return Timestamp(nanoseconds: 0).advanced(by: .seconds(isBeyond ? (day < 0 ? .min : .max) : seconds))
    }

    /// Returns the number of days in a lifetime, at least one.
    package static func count(in lifetime: Duration) -> Int {
        Int(clamping: (max(1, lifetime.components.seconds) - 1) / secondsPerDay + 1)
    }

    /// Returns how many may be removed on a day.
    ///
    /// - Parameter count: The number of registrations and devices that were ever delivered to.
    package static func budget(among count: Int) -> Int { max(minimumBudget, count / budgetShare) }
}
