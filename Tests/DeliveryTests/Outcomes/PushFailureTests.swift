import Store
import TestSupport
import Testing

@testable import Delivery

/// The label `reason` of `pushserver_push_failures_total`, which alerts and boards name (METRICS.md).
@Suite(.safetyNet) struct PushFailureTests {
    @Test(arguments: [
        (PushReason.apnsUnregistered, "dead_token"), (.badDeviceToken, "ambiguous_token"), (.tooManyRequests, "transient"),
        (.serviceUnavailable, "transient"), (.resourceExhausted, "transient"), (.invalidProviderToken, "credentials"),
        (.oauthRejected, "credentials"), (.topicDisallowed, "bundle_id"), (.apnsAuthorization, "operator_fault"),
        (.payloadTooLarge, "too_long"), (.badPriority, "invalid"), (.unknownText, "unknown_text"), (.noResponseInTime, "no_response"),
        (.bodyTooLarge, "body_too_large"), (.platformDisabled, "platform_disabled"), (.configuration, "misconfigured"),
        (.forgotten, "other"),
    ])
    func `each kind of failure has a label of its own`(reason: PushReason, label: String) {
        #expect(PushFailure(reason).rawValue == label)
    }
}
