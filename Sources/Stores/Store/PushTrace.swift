package import Envelope
package import PushProtocol
package import Wire

/// The history of a push request in the store, without secrets.
package struct TracedRequest: Sendable, Equatable {
    /// The number of its row.
    package var message: Int64
    package var receivedAt: Timestamp
    package var decidedAt: Timestamp?
    /// Whether the reply was published.
    package var isPublished: Bool
    /// The reports of the reply, one per notification of the request.
    package var reports: [Report]

    package struct Report: Sendable, Equatable {
        /// The target; nil if the request named no key hash.
        package var target: Installation?
        /// The error; nil for a success.
        package var error: ReportError?
        /// The accepted push; nil for an error, and for a success that was coalesced with another push or filtered by its registration.
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

/// The history of a push in the store, without secrets.
package struct TracedPush: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open(OpenPushState)
        case finished(PushOutcome, at: Timestamp)

        /// Creates the state of a push from its stored values.
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

    /// The row of the push request; 0 for a push of a gateway.
    package var message: Int64
    /// The time at which the request was received; nil if its row is pruned.
    package var receivedAt: Timestamp?
    package var route: String
    package var acceptedAt: Timestamp
    /// The number of attempts, including one in flight.
    package var attemptCount: Int
    /// The time of the newest attempt; nil if there was none.
    package var attemptedAt: Timestamp?
    /// The reason why the newest attempt failed or the push finished; nil if none exists.
    package var reason: String?
    /// What Apple or Google said to the newest attempt that failed; nil if neither did.
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
