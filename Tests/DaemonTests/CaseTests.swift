import Store
import TestSupport
import Testing

@testable import Daemon

/// Conditions about one of several values, with each of them.
@Suite(.safetyNet) struct CaseTests {
    @Test func `the body about a push names each outcome`() throws {
        let bodies = ([nil] + PushOutcome.allCases).map {
            PushProgressBody(PushProgress(attemptCount: 7, reason: "reason", words: "words", outcome: $0))
        }
        #expect(bodies.map(\.state) == ["waiting", "sent", "expired", "deadToken", "refused", "discarded", "withdrawn"])
        #expect(try bodies[0].json() == #"{"attempts":7,"reason":"reason","state":"waiting","words":"words"}"#)
    }
}
