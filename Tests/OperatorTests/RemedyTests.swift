import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Operator

/// What `pushctl doctor` and `trace` say about a push that was not delivered.
@Suite(.safetyNet) struct RemedyTests {
    @Test("Each reason for which a push was not delivered has a remedy", arguments: PushReason.allCases)
    func reason(reason: PushReason) {
        // Nobody has to correct these, or nobody knows how.
        let others: Set<PushReason> = [.unknownText, .unregistered, .forgotten, .withdrawn, .restored, .unused]
        #expect((Remedy.of(reason.rawValue) == nil) == others.contains(reason), "\(reason)")
    }

    @Test func `the words of Apple and Google stand for the reason that they contain, and else beside it`() {
        #expect(Remedy.text(reason: "BadDeviceToken", words: "BadDeviceToken") == "BadDeviceToken")
        #expect(Remedy.text(reason: "Quota exceeded", words: "Quota exceeded for x") == "Quota exceeded for x")
        #expect(Remedy.text(reason: "suspected token", words: "BadDeviceToken") == "suspected token: BadDeviceToken")
        #expect(Remedy.text(reason: "no response", words: nil) == "no response" && Remedy.text(reason: nil, words: nil) == nil)
        // Their words say more about the remedy than ours.
        #expect(Remedy.of("suspected token: BadDeviceToken") == Remedy.of("BadDeviceToken"))
        #expect(Remedy.of("lifetime: SenderId mismatch") == Remedy.of("SenderId mismatch"))
    }

    @Test(arguments: [true, false]) func `the remedy of a push says that the server retries only while it does`(isOpen: Bool) throws {
        let time = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
        let push = TracedPush(
            message: 1, receivedAt: time, route: "ios", acceptedAt: time, attemptCount: 2, attemptedAt: time, reason: "BadDeviceToken",
            words: "BadDeviceToken", state: isOpen ? .open(.queued) : .finished(.expired, at: time))
        let lines = TraceEntry(push, to: Installation(keyHash: FixedBytes(), installationID: "phone")).lines
        #expect(lines.contains { $0.hasPrefix("  remedy ") && $0.hasSuffix(" The server retries.") == isOpen }, "\(lines)")
    }
}
