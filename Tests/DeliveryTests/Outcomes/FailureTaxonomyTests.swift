import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.safetyNet) struct FailureTaxonomyTests {
    @Test(
        arguments: [
            ("Unregistered", FailureKind.deadToken), ("ExpiredToken", .deadToken), ("Requested entity was not found.", .refusedDevice),
            ("NotRegistered", .refusedDevice), ("unregistered device", .refusedDevice),
            ("BadDeviceToken", .refusedDevice), ("DeviceTokenNotForTopic", .refusedDevice), ("MissingDeviceToken", .refusedDevice),
            ("The registration token is not a valid FCM registration token", .refusedDevice), ("SenderId mismatch", .refusedDevice),
            ("invalid registration token", .refusedDevice), ("mismatched sender id", .refusedDevice),
            ("InvalidRegistration", .refusedDevice),
            ("TooManyRequests", .deviceQuota), ("InternalServerError", .transient), ("ServiceUnavailable", .transient),
            ("Shutdown", .transient), ("IdleTimeout", .transient),
            (#"Post "https://api.push.apple.com/3/device/Unregistered": dial tcp: connection refused"#, .transient),
            ("context canceled", .transient), ("rpc: context deadline exceeded", .transient),
            ("The service is currently unavailable.", .transient), ("Internal error encountered.", .transient),
            ("Resource has been exhausted (e.g. check quota).", .quota),
            ("unexpected http response with status: 503\nbody", .transient),
            ("unknown error while making an http call: EOF", .transient), ("timed out while making an http call: x", .transient),
            ("failed to establish a connection: x", .transient),
            ("InvalidProviderToken", .credentials), ("ExpiredProviderToken", .credentials), ("MissingProviderToken", .credentials),
            ("TooManyProviderTokenUpdates", .credentials), ("BadEnvironmentKeyIdInToken", .credentials),
            ("UnrelatedKeyIdInToken", .credentials), ("The caller does not have permission", .credentials),
            ("Firebase Cloud Messaging API has not been used in project 1 before or it is disabled.", .credentials),
            ("Request is missing required authentication credential. Expected OAuth 2 access token", .credentials),
            ("Auth error from APNS or Web Push Service", .operatorFault), ("Quota exceeded for quota metric 'x'", .quota),
            ("BadCertificate", .credentials),
            ("BadCertificateEnvironment", .credentials), ("Forbidden", .credentials), ("TopicDisallowed", .topic),
            ("BadTopic", .topic), ("MissingTopic", .topic), ("oauth2: cannot fetch token: 401", .credentials),
            ("Request had invalid authentication credentials. Expected OAuth 2 access token", .credentials),
            ("Permission 'cloudmessaging.messages.create' denied on resource", .credentials), ("FCM server error: 500", .operatorFault),
            (
                #"unknown error while making an http call: Post "https://fcm/v1/x:send": oauth2: cannot fetch token: 400 Bad Request"#,
                .credentials
            ),
            (#"Post "https://fcm/v1/x:send": oauth2: "invalid_grant" "Invalid JWT Signature.""#, .credentials),
            (#"Post "https://fcm/v1/x:send": oauth2: cannot fetch token: 503 Service Unavailable"#, .transient),
            (#"Post "https://fcm/v1/x:send": oauth2: cannot fetch token: Post "https://token": dial tcp: refused"#, .transient),
            ("PayloadTooLarge", .tooLong), ("Android message is too big", .tooLong),
            ("PayloadEmpty", .refusedPush), ("BadCollapseId", .refusedPush), ("BadExpirationDate", .refusedPush),
            ("BadMessageId", .refusedPush),
            ("BadPriority", .refusedPush), ("InvalidPushType", .refusedPush), ("BadPath", .refusedPush),
            ("fcm service send message error: invalid message at index 1: x", .refusedPush),
            ("Request contains an invalid argument.", .refusedPush),
            ("", .unknown), ("unregistered", .unknown), ("Unregistered ", .unknown), ("something new", .unknown),
        ])
    func `every text of GORUSH.md §6 has its kind, also within other words`(text: String, kind: FailureKind) {
        #expect(FailureTaxonomy.classify(text).kind == kind)
    }

    @Test func `each row is found by its own text, and its reason needs no quoting`() {
        for row in FailureTaxonomy.rows {
            #expect(FailureTaxonomy.classify(row.text).reason == row.reason)
            #expect(!row.reason.rawValue.contains("\""))
        }
        #expect(Set(FailureTaxonomy.rows.map(\.reason)).count == FailureTaxonomy.rows.count)
    }

    @Test func `an unknown text keeps none of its words`() {
        #expect(FailureTaxonomy.classify("token a1a1").reason == .unknownText)
        #expect(FailureTaxonomy.classify(#"Post "https://x/3/device/a1a1": EOF"#).reason == .networkError)
    }

    @Test(
        arguments: [
            ("InvalidProviderToken", "InvalidProviderToken"), ("BadEnvironmentKeyIdInToken", "BadEnvironmentKeyIdInToken"),
            (
                "unknown error while making an http call: Post \"https://fcm/a1a1\": oauth2: cannot fetch token: 400 Bad Request\n"
                    + "Response: {}",
                "oauth2: cannot fetch token: 400 Bad Request Response: {}"
            ),
            ("Post \"https://apns/3/device/a1a1\": dial tcp: connection refused", "dial tcp: connection refused"),
            ("words of tomorrow about a1a1", "words of tomorrow about …"),
            ("words about 0123456789abcdef0123456789abcdef", "words about …"),
            ("TheWordsOfTomorrowInOneWord", "TheWordsOfTomorrowInOneWord"), ("", "unknown text"),
        ])
    func `the provider's words are kept on one short line without the device token and the URL of the request`(
        text: String, words: String
    ) {
        #expect(FailureTaxonomy.classify(text, token: "a1a1").words == words)
        #expect(FailureTaxonomy.classify("Permission " + String(repeating: "x y", count: 999)).words.count == 200)
    }
}
