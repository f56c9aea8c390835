package import Envelope
package import StatusCrypto

/// The last response to each recent query, by Status message id. Times are monotonic.
package struct RecentQueries: Sendable {
    private struct Answer: Sendable {
        /// The row of the query. The same row again is a retry of a response that was not published.
        var message: Int64
        var digest: Int
        var time: Timestamp

        func isRecent(at now: Timestamp) -> Bool { time.advanced(by: ProtocolLimits.equalAnswerInterval) > now }
    }

    private var answers: [Digest32: Answer] = [:]
    private var sweptAt = Timestamp(nanoseconds: .min)

    package init() {}

    /// Whether a query may get a response: not the same that it got a moment ago.
    ///
    /// - Parameter digest: A hash of the response.
    package func allow(_ message: Int64, asking question: Digest32, digest: Int, at now: Timestamp) -> Bool {
        guard let last = answers[question] else { return true }
        return last.message == message || last.digest != digest || !last.isRecent(at: now)
    }

    /// Records the response to a query.
    package mutating func note(_ message: Int64, asking question: Digest32, digest: Int, at now: Timestamp) {
        sweep(at: now)
        answers[question] = Answer(message: message, digest: digest, time: now)
    }

    /// Returns only the given queries.
    package func restricted(to questions: [Digest32]) -> Self {
        var restricted = Self()
        for question in questions { restricted.answers[question] = answers[question] }
        return restricted
    }

    /// Drops older queries, once in an interval; stored responses are at most two intervals old.
    private mutating func sweep(at now: Timestamp) {
        guard sweptAt.advanced(by: ProtocolLimits.equalAnswerInterval) <= now else { return }
        answers = answers.filter { $0.value.isRecent(at: now) }
        sweptAt = now
    }
}
