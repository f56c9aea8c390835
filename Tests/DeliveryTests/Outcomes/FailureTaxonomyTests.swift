import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct FailureTaxonomyTests {
    @Test(
        "Every text of GORUSH.md §6, and what stands around it",
        arguments: [
            ("Unregistered", FailureKind.deadToken), ("ExpiredToken", .deadToken), ("Requested entity was not found.", .deadToken),
            ("NotRegistered", .deadToken), ("unregistered device", .deadToken),
            ("BadDeviceToken", .wrongEnvironment), ("DeviceTokenNotForTopic", .wrongEnvironment), ("MissingDeviceToken", .wrongEnvironment),
            ("The registration token is not a valid FCM registration token", .wrongEnvironment), ("SenderId mismatch", .wrongEnvironment),
            ("invalid registration token", .wrongEnvironment), ("mismatched sender id", .wrongEnvironment),
            ("InvalidRegistration", .wrongEnvironment),
            ("TooManyRequests", .transient), ("InternalServerError", .transient), ("ServiceUnavailable", .transient),
            ("Shutdown", .transient), ("IdleTimeout", .transient),
            (#"Post "https://api.push.apple.com/3/device/Unregistered": dial tcp: connection refused"#, .transient),
            ("context canceled", .transient), ("rpc: context deadline exceeded", .transient),
            ("The service is currently unavailable.", .transient), ("Internal error encountered.", .transient),
            ("Resource has been exhausted (e.g. check quota).", .transient),
            ("unexpected http response with status: 503\nbody", .transient),
            ("unknown error while making an http call: EOF", .transient), ("timed out while making an http call: x", .transient),
            ("failed to establish a connection: x", .transient),
            ("InvalidProviderToken", .operatorFault), ("ExpiredProviderToken", .operatorFault), ("MissingProviderToken", .operatorFault),
            ("TooManyProviderTokenUpdates", .operatorFault), ("BadCertificate", .operatorFault),
            ("BadCertificateEnvironment", .operatorFault), ("Forbidden", .operatorFault), ("TopicDisallowed", .operatorFault),
            ("BadTopic", .operatorFault), ("MissingTopic", .operatorFault), ("oauth2: cannot fetch token: 401", .operatorFault),
            ("Request had invalid authentication credentials. Expected OAuth 2 access token", .operatorFault),
            ("Permission 'cloudmessaging.messages.create' denied on resource", .operatorFault), ("FCM server error: 500", .operatorFault),
            ("PayloadTooLarge", .tooLong), ("Android message is too big", .tooLong),
            ("PayloadEmpty", .ourFault), ("BadCollapseId", .ourFault), ("BadExpirationDate", .ourFault), ("BadMessageId", .ourFault),
            ("BadPriority", .ourFault), ("InvalidPushType", .ourFault), ("BadPath", .ourFault),
            ("fcm service send message error: invalid message at index 1: x", .ourFault),
            ("Request contains an invalid argument.", .ourFault),
            ("", .transient), ("unregistered", .transient), ("Unregistered ", .transient), ("something new", .transient),
        ])
    func table(text: String, kind: FailureKind) {
        #expect(FailureTaxonomy.classify(text).kind == kind)
    }

    @Test func `Each row is reached by its own text, and reasons are fit to be printed`() {
        for row in FailureTaxonomy.rows {
            #expect(FailureTaxonomy.classify(row.text).reason == row.reason)
            #expect(!row.reason.contains("\""))
        }
        #expect(Set(FailureTaxonomy.reasons).count == FailureTaxonomy.reasons.count)
    }

    @Test func `An unknown text keeps none of its words`() {
        #expect(!FailureTaxonomy.classify("token a1a1").reason.contains("a1a1"))
        #expect(!FailureTaxonomy.classify(#"Post "https://x/3/device/a1a1": EOF"#).reason.contains("a1a1"))
    }
}
