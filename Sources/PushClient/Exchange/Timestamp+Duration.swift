import Envelope

extension Timestamp {
    /// How long until another moment; negative if it is over.
    func duration(to other: Timestamp) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (other < self ? .min : .max) : difference)
    }
}
