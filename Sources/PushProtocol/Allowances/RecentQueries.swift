package import Envelope
package import StatusCrypto

/// The recent queries and their responses: a query may have `ProtocolLimits.maximumAnswerCount` responses in
/// `ProtocolLimits.answerInterval`. Times are monotonic.
package struct RecentQueries: Sendable {
    private struct Answer: Sendable {
        /// The row of the answered message. A retry for the same row does not count as another response.
        var message: Int64
        var time: Timestamp

        func isRecent(at now: Timestamp) -> Bool { time.advanced(by: ProtocolLimits.answerInterval) > now }
    }

    /// The responses by Status message id.
    private var answers: [Digest32: [Answer]] = [:]
    private var sweptAt = Timestamp(nanoseconds: .min)

    package init() {}

    /// Whether a message may get a response.
    package func allow(_ message: Int64, asking question: Digest32, at now: Timestamp) -> Bool {
        guard let answers = answers[question] else { return true }
        return answers.contains { $0.message == message } || answers.count { $0.isRecent(at: now) } < ProtocolLimits.maximumAnswerCount
    }

    /// Records the response to a message.
    package mutating func note(_ message: Int64, asking question: Digest32, at now: Timestamp) {
        sweep(at: now)
        var answers = self.answers[question, default: []]
        answers.removeAll { $0.message == message || !$0.isRecent(at: now) }
        self.answers[question] = answers + [Answer(message: message, time: now)]
    }

    /// Returns only the given queries.
    package func restricted(to questions: [Digest32]) -> Self {
        var restricted = Self()
        for question in questions { restricted.answers[question] = answers[question] }
        return restricted
    }

    /// Drops older queries, once in an interval; stored responses are at most two intervals old.
    private mutating func sweep(at now: Timestamp) {
        guard sweptAt.advanced(by: ProtocolLimits.answerInterval) <= now else { return }
        answers = answers.filter { $0.value.contains { $0.isRecent(at: now) } }
        sweptAt = now
    }
}
