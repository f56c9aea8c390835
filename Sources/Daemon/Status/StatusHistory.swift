/// A bounded history of one figure: the last hour by minutes and the last day by 10 minutes.
struct StatusHistory: Sendable {
    private static let hourCapacity = 60
    private static let dayCapacity = 144
    /// The number of minutes between two values of the day.
    private static let minutesPerDayValue = 10

    private(set) var values = StatusSnapshot.History()
    private var lastMinute: Int?

    /// Records the value of a minute. The first value of a minute stays, and minutes without a value become gaps.
    ///
    /// - Parameter minute: The number of whole minutes since the start.
    mutating func record(_ value: Int?, minute: Int) {
        guard minute > lastMinute ?? -1 else { return }
        // A longer gap than the day needs no more steps than the day has minutes.
        let dayMinutes = Self.dayCapacity * Self.minutesPerDayValue
        let first = max(lastMinute.map { $0 + 1 } ?? minute, minute - dayMinutes)
        for step in first...minute {
            let isLast = step == minute
            Self.append(isLast ? value : nil, to: &values.hour, capacity: Self.hourCapacity)
            if step.isMultiple(of: Self.minutesPerDayValue) {
                Self.append(isLast ? value : nil, to: &values.day, capacity: Self.dayCapacity)
            }
        }
        lastMinute = minute
    }

    private static func append(_ value: Int?, to values: inout [Int?], capacity: Int) {
        values.append(value)
        if values.count > capacity { values.removeFirst(values.count - capacity) }
    }
}
