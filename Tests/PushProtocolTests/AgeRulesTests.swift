import Envelope
import PushProtocol
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct AgeRulesTests {
    static let day = Duration.seconds(24 * 3_600)
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    @Test(arguments: [MessageType.pushNotificationRequest, .pushNotificationQuery])
    func `push requests and queries are valid for a day`(type: MessageType) {
        #expect(!AgeRules.isTooOld(type, since: Self.now.advanced(by: .zero - Self.day), now: Self.now))
        #expect(AgeRules.isTooOld(type, since: Self.now.advanced(by: .nanoseconds(-1) - Self.day), now: Self.now))
    }

    @Test func `a registration is never too old`() {
        #expect(!AgeRules.isTooOld(.pushNotificationRegistration, since: Timestamp(nanoseconds: 0), now: Self.now))
    }

    @Test(arguments: [nil, Timestamp(nanoseconds: .max), Self.now.advanced(by: Self.day)])
    func `a message without a time, or with a future one, is not late`(sentAt: Timestamp?) {
        #expect(!AgeRules.isTooOld(.pushNotificationRequest, since: sentAt, now: Self.now))
    }

    @Test func `a message with the earliest time is late, and causes no crash`() {
        #expect(AgeRules.isTooOld(.pushNotificationQuery, since: Timestamp(nanoseconds: .min), now: Self.now))
    }
}
