package import Envelope
package import StatusCrypto

/// Which questions were answered lately, and how often: the same one is answered `ProtocolLimits.maximumAnswerCount` times in
/// `ProtocolLimits.answerInterval`. Times are steady ones.
package struct RecentQueries: Sendable {
    private struct Answer: Sendable {
        /// The row of the message that was answered: who is answered again because the first time came to nothing is one.
        var message: Int64
        var time: Timestamp

        func isRecent(at now: Timestamp) -> Bool { time.advanced(by: ProtocolLimits.answerInterval) > now }
    }

    /// By Status message id.
    private var answers: [Digest32: [Answer]] = [:]
    private var sweptAt = Timestamp(nanoseconds: .min)

    package init() {}

    /// Whether a message may have an answer.
    package func allow(_ message: Int64, asking question: Digest32, at now: Timestamp) -> Bool {
        guard let answers = answers[question] else { return true }
        return answers.contains { $0.message == message } || answers.count { $0.isRecent(at: now) } < ProtocolLimits.maximumAnswerCount
    }

    /// Notes that a message is answered.
    package mutating func note(_ message: Int64, asking question: Digest32, at now: Timestamp) {
        sweep(at: now)
        var answers = self.answers[question, default: []]
        answers.removeAll { $0.message == message || !$0.isRecent(at: now) }
        self.answers[question] = answers + [Answer(message: message, time: now)]
    }

    /// Those to some questions alone.
    package func restricted(to questions: [Digest32]) -> Self {
        var restricted = Self()
        for question in questions { restricted.answers[question] = answers[question] }
        return restricted
    }

    /// Once in an interval what is older than that is forgotten: what is kept was answered in the last two.
    private mutating func sweep(at now: Timestamp) {
        guard sweptAt.advanced(by: ProtocolLimits.answerInterval) <= now else { return }
        answers = answers.filter { $0.value.contains { $0.isRecent(at: now) } }
        sweptAt = now
    }
}
