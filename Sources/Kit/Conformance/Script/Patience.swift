import Tasks

/// How long the kit waits for a server that may be slow, because late is not wrong.
///
/// The given time is the least wait. It grows to five times the slowest answer so far of the same kind, also while a wait lasts.
final class Patience: Sendable {
    /// What a server owes. A server may be quick with one kind and slow with another.
    enum Kind: String, Hashable, Sendable {
        case registration = "a registration response"
        case query = "a query response"
        case push = "a push response"
        case notification = "a notification at gorush"
        case deferred = "a deferred notification at gorush"

        /// The time until a device's empty bucket has a credit (PROTOCOL.md §9).
        static let bucketInterval = Duration.seconds(5)
        /// The time that passes anyway.
        fileprivate var leastTime: Duration { self == .deferred ? Self.bucketInterval : .zero }
    }

    private static let stretch = 5
    /// The first and the last answer of a run may take longer than any other.
    private static let longestStretch = 6

    private let minimum: Duration
    private let clock: any Clock<Duration>
    /// The slowest answers of the run.
    private let slowest: Monitor<[Kind: Duration]>

    convenience init(_ minimum: Duration, clock: any Clock<Duration>) {
        self.init(minimum, clock, Monitor([:]))
    }

    private init(_ minimum: Duration, _ clock: any Clock<Duration>, _ slowest: Monitor<[Kind: Duration]>) {
        self.minimum = minimum
        self.clock = clock
        self.slowest = slowest
    }

    /// Returns the present wait for a kind.
    func time(for kind: Kind) -> Duration { max(minimum + kind.leastTime, slowest.read { $0[kind] ?? .zero } * Self.stretch) }

    /// The wait for the answers that decide whether a server is there, and whether missing answers will come.
    var longest: Patience {
        let slowestOfAll = slowest.read { $0.values.max() ?? .zero }
        return Patience(max(minimum * Self.longestStretch, slowestOfAll * Self.stretch), clock, slowest)
    }

    /// Waits for an answer.
    ///
    /// - Returns: The answer, or nil if the wait ended or the task was cancelled first.
    func wait<Answer: Sendable>(for kind: Kind, _ answer: @escaping @Sendable () async -> Answer?) async -> Answer? {
        let elapsed = clock.stopwatch()
        while !Task.isCancelled {
            let remaining = time(for: kind) - elapsed()
            guard remaining > .zero else { return nil }
            if let answer = await withTimeout(remaining, clock: clock, answer) ?? nil {
                let time = elapsed()
                slowest.update { $0[kind] = max($0[kind] ?? .zero, time) }
                return answer
            }
        }
        return nil
    }
}

/// An answer that had not come when the wait for it ended. It ends its scenario, and the end of the run tells whether it is missing or
/// late.
struct Overdue: Error {
    let kind: Patience.Kind
    /// The finding if the answer is missing.
    let sentence: String
    /// What the reference does if the answer is missing, or nil if it answers.
    private(set) var departure: Departure?
    /// Returns the time that the answer took, or nil until it has come.
    let arrival: @Sendable () -> Duration?

    init(_ kind: Patience.Kind, _ sentence: String, arrival: @escaping @Sendable () -> Duration?) {
        self.kind = kind
        self.sentence = sentence
        self.arrival = arrival
    }

    /// The same, where the reference does not answer.
    func departing(_ departure: Departure) -> Overdue {
        var overdue = self
        overdue.departure = departure
        return overdue
    }
}
