import Store

/// A figure's bounded history: the last hour by minutes and the last day by 10 minutes. Both have an additional value, so that a counter's
/// increase is known for each interval.
struct StatusHistory: Sendable, Codable {
    private static let hourCapacity = 61
    private static let dayCapacity = 145
    /// The minutes between two values in `day`.
    private static let minutesPerDayValue = 10
    /// How many values in `day` cover an hour.
    private static let dayValuesPerHour = 6

    private var hour: [Int?] = []
    private var day: [Int?] = []
    private var lastMinute: Int?

    /// Records a minute's value. A minute's first value stays, and minutes without a value become gaps.
    ///
    /// - Parameter minute: Whole minutes since 1970. If it is earlier than before, the clock was wrong, and the history begins anew.
    mutating func record(_ value: Int?, minute: Int) {
        if let lastMinute, minute < lastMinute { self = StatusHistory() }
        guard minute != lastMinute else { return }
        // A gap of more than a day needn't take more steps than the day has minutes.
        let dayMinutes = Self.dayCapacity * Self.minutesPerDayValue
        let first = max(lastMinute.map { $0 + 1 } ?? minute, minute - dayMinutes)
        for step in first...minute {
            let isLast = step == minute
            Self.append(isLast ? value : nil, to: &hour, capacity: Self.hourCapacity)
            if step.isMultiple(of: Self.minutesPerDayValue) {
                Self.append(isLast ? value : nil, to: &day, capacity: Self.dayCapacity)
            }
        }
        lastMinute = minute
    }

    private static func append(_ value: Int?, to values: inout [Int?], capacity: Int) {
        values.append(value)
        if values.count > capacity { values.removeFirst(values.count - capacity) }
    }

    /// The values: the last 60 minutes, and the last 144 times 10 minutes.
    var values: StatusSnapshot.History {
        .init(hour: hour.suffix(Self.hourCapacity - 1), day: day.suffix(Self.dayCapacity - 1))
    }

    /// A counter's increase in each of the last 60 minutes, and in each 10 minutes of the last day.
    var increases: StatusSnapshot.History { .init(hour: Self.increases(hour), day: Self.increases(day)) }

    /// A counter that falls was restored from a backup: then the increase is unknown.
    private static func increases(_ values: [Int?]) -> [Int?] {
        zip(values.dropFirst(), values).map { later, earlier in
            guard let later, let earlier, later >= earlier else { return nil }
            return later.clampedDifference(earlier)
        }
    }

    /// A counter's increase in the last hour, or since the first value if that is later. Nil before the second value.
    var lastHourIncrease: Int? {
        let known = hour.compactMap(\.self)
        guard known.count > 1, let first = known.first, let last = known.last, last >= first else { return nil }
        return last.clampedDifference(first)
    }

    /// A counter's increase in the hour that began 24 hours ago, or nil if the history is shorter or its value there is unknown.
    var hourYesterdayIncrease: Int? {
        guard day.count == Self.dayCapacity, let first = day[0], let last = day[Self.dayValuesPerHour], last >= first else { return nil }
        return last.clampedDifference(first)
    }

    /// Whether ``record(_:minute:)`` can have made the history. Checks a history from a file.
    var isValid: Bool { hour.count <= Self.hourCapacity && day.count <= Self.dayCapacity }
}
