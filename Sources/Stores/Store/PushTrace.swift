package import Envelope
package import PushProtocol
package import Wire

/// A push request's history in the store, without secrets.
package struct TracedRequest: Sendable, Equatable {
    /// The push request's row.
    package var message: Int64
    package var receivedAt: Timestamp
    package var decidedAt: Timestamp?
    /// Whether the reply was published.
    package var isPublished: Bool
    /// The reply's reports, with a report for each notification in the request.
    package var reports: [Report]

    package struct Report: Sendable, Equatable {
        /// The target, or nil if the request didn't name a key hash.
        package var target: Installation?
        /// The error, or nil for a success.
        package var error: ReportError?
        /// The accepted push. Nil for an error, and for a success that was coalesced with another push or filtered by its registration.
        package var push: TracedPush?

        package init(target: Installation?, error: ReportError?, push: TracedPush?) {
            self.target = target
            self.error = error
            self.push = push
        }
    }

    package init(message: Int64, receivedAt: Timestamp, decidedAt: Timestamp?, isPublished: Bool, reports: [Report]) {
        self.message = message
        self.receivedAt = receivedAt
        self.decidedAt = decidedAt
        self.isPublished = isPublished
        self.reports = reports
    }
}

/// A push's history in the store, without secrets.
package struct TracedPush: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open(OpenPushState)
        case finished(PushOutcome, at: Timestamp)

        /// Creates a push's state from its stored values.
        package init(stored number: Int64, finishedAt: Timestamp?) throws(StoreError) {
            if let finishedAt, let outcome = PushOutcome(rawValue: number) {
                self = .finished(outcome, at: finishedAt)
            } else if finishedAt == nil, let open = OpenPushState(rawValue: number) {
                self = .open(open)
            } else {
                throw .damaged
            }
        }
    }

    /// The push request's row, or 0 if a gateway accepted the push.
    package var message: Int64
    /// The time at which the request was received, or nil if its row is pruned.
    package var receivedAt: Timestamp?
    package var route: String
    package var acceptedAt: Timestamp
    /// The number of attempts, including an attempt in flight.
    package var attemptCount: Int
    /// The time at which the newest attempt was made, or nil if there was none.
    package var attemptedAt: Timestamp?
    /// The reason why the newest attempt failed or the push finished, or nil if none exists.
    package var reason: String?
    /// What Apple or Google said to the newest attempt that failed, or nil if neither did.
    package var words: String?
    package var state: State

    package init(
        message: Int64, receivedAt: Timestamp?, route: String, acceptedAt: Timestamp, attemptCount: Int, attemptedAt: Timestamp?,
        reason: String?, words: String?, state: State
    ) {
        self.message = message
        self.receivedAt = receivedAt
        self.route = route
        self.acceptedAt = acceptedAt
        self.attemptCount = attemptCount
        self.attemptedAt = attemptedAt
        self.reason = reason
        self.words = words
        self.state = state
    }
}
