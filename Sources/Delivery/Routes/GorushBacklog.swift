/// What waits in the memory of a gorush in async mode: its answers come at once and tell nothing of it, and when it is full it takes half
/// a request and answers 500 (GORUSH.md §0 fact 4).
///
/// Times are those of a monotonic clock, from its start.
struct GorushBacklog: Sendable {
    /// What gorush said is so long good for: at some thousand pushes a second far less than its queue.
    static let freshTime = Duration.milliseconds(200)
    /// One that does not say is not asked again for so long.
    static let silentTime = Duration.seconds(60)

    private var count: Int?
    private var askedAt: Duration?
    private var postedSince = 0

    /// Whether gorush is to be asked before more is posted.
    func mustBeAsked(at now: Duration) -> Bool {
        now >= nextQuestion
    }

    var nextQuestion: Duration {
        askedAt.map { $0 + (count == nil ? Self.silentTime : Self.freshTime) } ?? .zero
    }

    /// - Parameter count: of notifications; nil: it does not say.
    mutating func answered(_ count: Int?, at now: Duration) {
        self.count = count
        askedAt = now
        postedSince = 0
    }

    mutating func posted(_ count: Int) {
        postedSince += count
    }

    /// Notifications that may be posted before it is asked again; nil: it does not say.
    func room(of capacity: Int, sharedBy routeCount: Int) -> Int? {
        count.map { max(0, (capacity - $0) / routeCount - postedSince) }
    }
}
