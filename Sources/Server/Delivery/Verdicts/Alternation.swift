/// Refusals that end soon, again and again, as of two gorush behind one address of which one is set up wrongly.
///
/// A fault that a person repairs lasts longer, and refusals that end together count once. Times are monotonic and count from the delivery's
/// start.
struct Alternation: Sendable {
    /// So many refusals, each of them followed by an acceptance before the next.
    static let requiredCount = 3
    /// They happen within that time: where a phone gets a push each few minutes, each second push opens a connection to the other
    /// gorush.
    static let interval = Duration.seconds(3_600)
    /// An attempt that is repeated over new connections meets the other gorush within that time.
    static let turnInterval = Duration.seconds(60)

    private var ends: [Duration] = []

    /// Records that what was refused since a time is accepted.
    mutating func accepted(refusedSince start: Duration, at now: Duration) {
        guard now - start < Self.turnInterval, ends.last.map({ $0 <= start }) ?? true else { return }
        ends = (ends + [now]).suffix(Self.requiredCount)
    }

    func isSeen(at now: Duration) -> Bool { ends.count == Self.requiredCount && ends.allSatisfy { now - $0 < Self.interval } }
}
