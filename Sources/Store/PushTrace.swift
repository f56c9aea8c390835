package import Envelope
package import PushProtocol
package import Wire

/// A push request as the store knows it, without secrets.
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
        /// The push that was accepted. A success without one was coalesced with another push of the target, or filtered as its
        /// registration wants.
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

/// A push as the store knows it, without secrets.
package struct TracedPush: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case open(OpenPushState)
        case finished(PushOutcome, at: Timestamp)
    }

    /// The row of the request that it came with; 0 for a push of a gateway.
    package var message: Int64
    /// When the request was received; nil when its row was pruned.
    package var receivedAt: Timestamp?
    package var route: String
    package var acceptedAt: Timestamp
    /// The number of attempts, a current one included.
    package var attemptCount: Int
    package var attemptedAt: Timestamp?
    /// Why the newest attempt failed, or why the push finished.
    package var reason: String?
    package var state: State

    package init(
        message: Int64, receivedAt: Timestamp?, route: String, acceptedAt: Timestamp, attemptCount: Int, attemptedAt: Timestamp?,
        reason: String?, state: State
    ) {
        self.message = message
        self.receivedAt = receivedAt
        self.route = route
        self.acceptedAt = acceptedAt
        self.attemptCount = attemptCount
        self.attemptedAt = attemptedAt
        self.reason = reason
        self.state = state
    }
}
