/// How many requests of a route may be under way: as many as make it faster. It tries more and fewer in turn, and keeps what pays: more, if
/// they bring more answers a second, or fewer that bring as many. When gorush takes no more, it is halved.
///
/// Rates are compared with those of the moment before only: Apple and Google are slower at some hours than at others.
struct RequestWindow: Sendable, Equatable {
    /// Where it begins: what a gorush with its usual workers takes, and enough for 500 pushes a second at 60 ms.
    static let initialCount = 32
    /// Fewer leave gorush idle between a request and the next.
    static let minimumCount = 4
    /// Answers of which a rate is made, at least: the fewer, the more it depends on chance.
    static let minimumAnswerCount = 64
    /// Rounds before something else is tried again.
    private static let restCount = 8
    /// A wider window must bring that share of what it is wider.
    private static let worthwhileShare = 0.5
    /// A narrower one may cost that share of the rate, however many steps it takes.
    private static let tolerableShare = 0.05

    private enum Trial: Equatable {
        case resting(rounds: Int, thenGrows: Bool)
        /// From a width with a rate.
        case growing(from: Int, rate: Double)
        /// Step by step; the rate is that of the first width.
        case shrinking(from: Int, rate: Double)
    }

    let maximumCount: Int
    private(set) var count: Int

    private var trial = Trial.resting(rounds: 0, thenGrows: true)
    /// Seconds that the answers of the round took.
    private var sum = 0.0
    private var answerCount = 0
    /// Whether more requests would have gone out.
    private var wasFull = false
    /// Answers to what went out before it was halved say nothing new.
    private var staleCount = 0

    init(maximumCount: Int) {
        self.maximumCount = maximumCount
        count = min(Self.initialCount, maximumCount)
    }

    /// Requests went out.
    mutating func posted(underWay: Int) {
        if underWay >= count { wasFull = true }
    }

    /// A request was answered.
    mutating func answered(in latency: Duration) {
        guard staleCount == 0 else { return staleCount -= 1 }
        sum += latency / .seconds(1)
        answerCount += 1
        guard answerCount >= max(2 * count, Self.minimumAnswerCount) else { return }
        // By Little's law; a clock that stands still makes it infinite.
        judge(rate: Double(count) * Double(answerCount) / sum)
        begin()
    }

    /// gorush did not take a request, or did not answer. Of many that fail together one counts.
    mutating func failed() {
        guard staleCount == 0 else { return staleCount -= 1 }
        staleCount = count
        count = narrower(count / 2)
        trial = .resting(rounds: Self.restCount, thenGrows: true)
        begin()
    }

    private mutating func begin() {
        sum = 0
        answerCount = 0
        wasFull = false
    }

    private mutating func judge(rate: Double) {
        // Where fewer are wanted than may go, nothing is found out.
        guard wasFull else { return rest(at: count, thenGrows: true) }
        switch trial {
        case .resting(let rounds, let thenGrows) where rounds > 0: trial = .resting(rounds: rounds - 1, thenGrows: thenGrows)
        case .resting(_, thenGrows: true): grow(rate: rate)
        case .resting(_, thenGrows: false): shrink(rate: rate)
        case .growing(let width, let before):
            let gain = (Double(count) / Double(width) - 1) * Self.worthwhileShare
            if rate >= before * (1 + gain) { grow(rate: rate) } else { rest(at: width, thenGrows: false) }
        case .shrinking(let width, let before):
            if rate >= before * (1 - Self.tolerableShare) { shrink(rate: before) } else { rest(at: width, thenGrows: true) }
        }
    }

    private mutating func grow(rate: Double) {
        guard count < maximumCount else { return rest(at: count, thenGrows: false) }
        trial = .growing(from: count, rate: rate)
        count = min(maximumCount, count + max(1, count / 4))
    }

    private mutating func shrink(rate: Double) {
        guard narrower(count - 1) < count else { return rest(at: count, thenGrows: true) }
        trial = .shrinking(from: count, rate: rate)
        count = narrower(count - max(1, count / 8))
    }

    private mutating func rest(at count: Int, thenGrows: Bool) {
        self.count = count
        trial = .resting(rounds: Self.restCount, thenGrows: thenGrows)
    }

    private func narrower(_ width: Int) -> Int { min(count, max(min(Self.minimumCount, maximumCount), width)) }
}
