import Store
import TestSupport

/// gorush, Apple and Google in one: takes requests, delivers, fails, and loses answers.
struct Gorush {
    struct Faults {
        /// Nobody is there.
        var isAway = false
        /// What was asked for is done, and the answer does not arrive.
        var losesAnswers = false
        /// Answers 503 and does nothing.
        var isBusy = false
    }

    enum Answer {
        /// By push: whether its token is dead.
        case done([Int64: Bool])
        case busy
        case nothing(mayHaveArrived: Bool)
    }

    var faults = Faults()
    /// How often each push reached a phone.
    private(set) var deliveryCounts: [Int64: Int] = [:]
    /// Apps that were deleted.
    private var deadTokens: Set<String> = []

    mutating func kill(token: String) { deadTokens.insert(token) }
    func isDead(_ token: String) -> Bool { deadTokens.contains(token) }

    mutating func post(_ pushes: [QueuedPush]) -> Answer {
        if faults.isAway { return .nothing(mayHaveArrived: false) }
        if faults.isBusy { return .busy }
        var outcomes: [Int64: Bool] = [:]
        for push in pushes {
            let isDead = deadTokens.contains(push.push.deviceToken)
            outcomes[push.id] = isDead
            if !isDead { deliveryCounts[push.id, default: 0] += 1 }
        }
        return faults.losesAnswers ? .nothing(mayHaveArrived: true) : .done(outcomes)
    }
}
