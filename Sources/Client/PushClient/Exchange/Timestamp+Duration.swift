import Envelope

extension Timestamp {
    /// Returns the duration until another time; negative if that time has passed.
    func duration(to other: Timestamp) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other < self ? .min : .max) : difference)
    }
}
