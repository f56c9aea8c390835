import Envelope
import PushProtocol
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct AgeRulesTests {
    static let day = Duration.seconds(24 * 3_600)
    static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    @Test(arguments: [MessageType.pushNotificationRequest, .pushNotificationQuery])
    func `push requests and queries are of use for a day`(type: MessageType) {
        #expect(!AgeRules.isTooOld(type, sentAt: Self.now.advanced(by: .zero - Self.day), now: Self.now))
        #expect(AgeRules.isTooOld(type, sentAt: Self.now.advanced(by: .nanoseconds(-1) - Self.day), now: Self.now))
    }

    @Test func `a registration is never too old`() {
        #expect(!AgeRules.isTooOld(.pushNotificationRegistration, sentAt: Timestamp(nanoseconds: 0), now: Self.now))
    }

    @Test(arguments: [nil, Timestamp(nanoseconds: .max), Self.now.advanced(by: Self.day)])
    func `a sender that does not say when, or claims the future, is not late`(sentAt: Timestamp?) {
        #expect(!AgeRules.isTooOld(.pushNotificationRequest, sentAt: sentAt, now: Self.now))
    }

    @Test func `a sender that claims the beginning of time is late, not a crash`() {
        #expect(AgeRules.isTooOld(.pushNotificationQuery, sentAt: Timestamp(nanoseconds: .min), now: Self.now))
    }
}
