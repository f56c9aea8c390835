import Bytes
import Foundation
import Store
import TestSupport
import Testing

/// The forms in which values are stored. They stay from release to release, because a database keeps its rows. A new value is a new row.
@Suite(.safetyNet) struct StoredFormTests {
    private static func numbers<Value: CaseIterable & RawRepresentable<Int64>>(_ type: Value.Type) -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: Value.allCases.map { ("\($0)", $0.rawValue) })
    }

    @Test func `each number that stands for a state, an outcome, a trust or a reason is the one of earlier releases`() {
        #expect(Self.numbers(MessageState.self) == ["recorded": 0, "ignored": 1, "silent": 2, "answered": 3])
        #expect(Self.numbers(IgnoreReason.self) == ["notForUs": 1, "invalid": 2, "tooOld": 3])
        #expect(Self.numbers(OpenPushState.self) == ["queued": 0, "leased": 6, "unknown": 7])
        #expect(
            Self.numbers(PushOutcome.self) == [
                "sent": 1, "expired": 2, "deadToken": 3, "refused": 4, "discarded": 5, "withdrawn": 8,
            ])
        #expect(Self.numbers(PushTrust.self) == ["proven": 0, "unproven": 1, "unknownBundleID": 2, "call": 3])
        #expect(Self.numbers(PushRefusals.Shortening.self) == ["none": 0, "next": 1, "refused": 2])
        // One column has both.
        #expect(Set(OpenPushState.allCases.map(\.rawValue)).isDisjoint(with: PushOutcome.allCases.map(\.rawValue)))
    }

    private static let reasons = [
        "unknown text", "network error", "no response", "no response in time", "wrong count", "unavailable", "configuration",
        "platform disabled", "over limit", "a proxy answers instead of gorush", "a proxy did not wait for gorush", "status 413",
        "rejected by gorush", "lease ended", "lifetime", "unregistered", "registered for another app",
        "registered with another kind of token", "no such platform", "not a device token", "not a bundle id", "unproven bundle id",
        "suspected token", "age in doubt", "queue full", "forgotten", "withdrawn", "restored", "unused", "Unregistered", "ExpiredToken",
        "BadDeviceToken", "DeviceTokenNotForTopic", "MissingDeviceToken", "TooManyRequests", "InternalServerError", "ServiceUnavailable",
        "Shutdown", "IdleTimeout", "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken", "BadCertificate",
        "BadCertificateEnvironment", "Forbidden", "TooManyProviderTokenUpdates", "BadEnvironmentKeyIdInToken", "UnrelatedKeyIdInToken",
        "TopicDisallowed", "BadTopic", "MissingTopic", "PayloadTooLarge", "PayloadEmpty", "BadCollapseId", "BadExpirationDate",
        "BadMessageId", "BadPriority", "InvalidPushType", "BadPath", "cannot fetch token: 5", "cannot fetch token: Post",
        "cannot fetch token", "oauth2: ", "Requested entity was not found", "NotRegistered", "unregistered device",
        "The registration token is not a valid FCM registration token", "SenderId mismatch", "invalid registration token",
        "InvalidRegistration", "mismatched sender id", "The service is currently unavailable", "Internal error encountered",
        "Resource has been exhausted", "Quota exceeded", "unexpected http response with status: 5",
        "unknown error while making an http call", "timed out while making an http call", "failed to establish a connection",
        "invalid authentication credentials", "missing required authentication credential", "has not been used in project",
        "caller does not have permission", "Permission", "Auth error from APNS", "FCM server error",
        "unexpected http response with status: 4", "too big", "fcm service send message error", "Request contains an invalid argument",
        "context canceled", "context deadline exceeded",
    ]

    @Test func `each text that is stored is the one of earlier releases`() {
        #expect(PushReason.allCases.map(\.rawValue).sorted() == Self.reasons.sorted())
        #expect(
            Milestone.allCases.map(\.rawValue) == [
                "received", "duplicate", "invalid", "ignored", "processed", "accepted", "merged", "coalesced", "sent", "expired",
                "dead_token",
                "refused", "discarded", "withdrawn", "filtered", "uncertain",
            ])
        #expect(DamagedRowKind.allCases.map(\.rawValue) == ["message", "push", "registration"])
    }

    @Test func `a notification's JSON has the names of earlier releases`() throws {
        let alert = GatewayNotification.Alert(title: "a", body: "b", titleLocalizationKey: "c", bodyLocalizationKey: "d")
        var notification = GatewayNotification(
            platform: .android, token: "token", topic: "topic", kind: .voip, priority: .normal, alert: alert, sound: "sound",
            data: ["key": "value"])
        (notification.badge, notification.threadID, notification.collapseID) = (7, "thread", "collapse")
        (notification.isContentAvailable, notification.isMutable, notification.isTriedOnce, notification.isCall) = (true, true, true, true)
        let stored = """
            {"platform":"android","token":"token","topic":"topic","kind":"voip","priority":"normal","alert":{"title":"a","body":"b",\
            "titleLocalizationKey":"c","bodyLocalizationKey":"d"},"sound":"sound","badge":7,"isContentAvailable":true,"isMutable":true,\
            "threadID":"thread","collapseID":"collapse","isTriedOnce":true,"call":true,"data":{"key":"value"}}
            """
        #expect(try JSONDecoder().decode(GatewayNotification.self, from: Data(stored.utf8)) == notification)
        #expect(
            try JSONDecoder().decode(JSONValue.self, from: Data(notification.json))
                == JSONDecoder().decode(JSONValue.self, from: Data(stored.utf8)))
        #expect(GatewayNotification.Platform.allCases.map(\.rawValue) == ["ios", "android"])
        #expect(GatewayNotification.Kind.allCases.map(\.rawValue) == ["alert", "voip", "background"])
        #expect(GatewayNotification.Priority.allCases.map(\.rawValue) == ["high", "normal"])
    }
}
