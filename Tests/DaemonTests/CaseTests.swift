import Store
import TestSupport
import Testing

@testable import Daemon

/// Conditions about one of several values, with each of them.
@Suite(.safetyNet) struct CaseTests {
    @Test(arguments: [nil] + PushOutcome.allCases) func `the body about a push names each outcome`(outcome: PushOutcome?) throws {
        let name =
            switch outcome {
            case nil: "waiting"
            case .sent: "sent"
            case .expired: "expired"
            case .deadToken: "deadToken"
            case .refused: "refused"
            case .discarded: "discarded"
            case .withdrawn: "withdrawn"
            }
        let body = PushProgressBody(PushProgress(attemptCount: 7, reason: "reason", words: "words", outcome: outcome))
        #expect(try body.json() == #"{"attempts":7,"reason":"reason","state":"\#(name)","words":"words"}"#)
    }
}
