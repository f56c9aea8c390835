import Store
import TestSupport
import Testing

@testable import Delivery

/// Conditions about one of several values, with each of them.
@Suite(.safetyNet) struct CaseTests {
    /// What the rules ask about a failure.
    private struct Answers: Equatable {
        var isOfDevice = false
        var isRefusal = false
        var isOfPush = false
        var isRejection = false

        init(_ outcome: AttemptOutcome) {
            isOfDevice = outcome.isDeviceRefusal
            isRefusal = outcome.isRefusal
            isOfPush = outcome.isPushRefusal
            isRejection = outcome.isRejection
        }

        init(isOfDevice: Bool = false, isRefusal: Bool = false, isOfPush: Bool = false, isRejection: Bool = false) {
            (self.isOfDevice, self.isRefusal, self.isOfPush, self.isRejection) = (isOfDevice, isRefusal, isOfPush, isRejection)
        }
    }

    @Test(arguments: FailureKind.allCases) func `a failure is about the device, the push, both or neither`(kind: FailureKind) {
        let expected =
            switch kind {
            case .deadToken, .topic: Answers(isRejection: true)
            case .refusedDevice: Answers(isOfDevice: true, isRefusal: true, isRejection: true)
            case .refusedPush: Answers(isRefusal: true, isOfPush: true, isRejection: true)
            case .tooLong: Answers(isRefusal: true, isOfPush: true)
            case .transient, .deviceQuota, .quota, .credentials, .operatorFault, .unknown: Answers()
            }
        #expect(Answers(.failed(Failure(kind: kind, reason: .unknownText))) == expected)
    }

    @Test(
        arguments: [
            .sent, .unknown(reason: .noResponse), .broken, .passing(reason: .unavailable, retryAfter: nil), .notSent(reason: .overLimit),
        ] as [AttemptOutcome]) func `no other outcome is a refusal`(outcome: AttemptOutcome)
    {
        #expect(Answers(outcome) == Answers())
    }

    @Test(arguments: GorushResult.allCases) func `each response has a result of its own in the metric`(result: GorushResult) {
        let responses: [GorushResponse] =
            switch result {
            case .accepted: [.accepted(failures: [])]
            case .short: [.short(expected: 2, counted: 1)]
            case .overLimit: [.overLimit(1)]
            case .rejected: [.refused(message: "")]
            case .tooLarge: [.tooLarge]
            case .misconfigured: [.misconfigured(status: nil), .misconfigured(status: 404), .unfit(issue: "")]
            case .wantsTLS: [.wantsTLS]
            case .unavailable: [.unavailable(.init(proxyStatus: nil, retryAfter: nil))]
            case .busy: [.busy(.init(proxyStatus: 503, retryAfter: nil))]
            case .timedOut: [.timedOut(nil), .late]
            case .uncertain: [.unknown, .broken]
            }
        for response in responses { #expect(GorushResult(response) == result) }
    }
}
