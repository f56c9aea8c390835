import Bytes
import Envelope
import Foundation
import Observation
import PushProtocol
import Store
import TestSupport
import Testing

@testable import Operator

/// What `pushctl doctor` and `trace` say about a push that was not delivered.
@Suite(.safetyNet) struct RemedyTests {
    @Test(arguments: PushReason.allCases) func `each reason for which a push was not delivered has a remedy`(reason: PushReason) {
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
        #expect(Remedy.of("suspected token: BadDeviceToken")?.text == Remedy.of("BadDeviceToken")?.text)
        #expect(Remedy.of("lifetime: SenderId mismatch")?.text == Remedy.of("SenderId mismatch")?.text)
    }

    @Test(arguments: [
        ("a proxy answers instead of gorush", Remedy.Answerer.proxy, "limits requests", "REASONS.md#a-proxy-answers--instead-of-gorush"),
        ("a proxy did not wait for gorush", .proxy, "waits too short", "REASONS.md#a-proxy-answers--instead-of-gorush"),
        ("status 413", .proxy, "let it accept 16 KB", "REASONS.md#a-proxy-answers--instead-of-gorush"),
        ("rejected by gorush", .gorush, "A field of the push", "NOTIFICATIONS.md#which-field-wins"),
        ("platform disabled", .gorush, "ios.enabled", "REASONS.md#gorush-has--enabled-false"),
        ("unavailable", .gorush, "Start gorush", "DELIVERY.md#settings-of-gorush"),
        ("no response in time", .nobody, "wait", "REASONS.md#-delivers-nothing-not-even-to-devices-that-have-worked"),
        ("ServiceUnavailable", .provider, "a fault of its own", "REASONS.md#-delivers-nothing-not-even-to-devices-that-have-worked"),
        ("InvalidProviderToken", .provider, "rejects gorush itself", "CREDENTIALS.md#when-one-is-refused"),
    ])
    func `the remedy follows who answered`(reason: String, answerer: Remedy.Answerer, words: String, page: String) throws {
        let remedy = try #require(Remedy.of(reason))
        #expect(remedy.answerer == answerer && remedy.text.contains(words) && remedy.page == page, "\(remedy)")
    }

    @Test func `each remedy leads to a heading that exists`() throws {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
        for remedy in Remedy.all {
            let parts = remedy.page.split(separator: "#")
            let page = try String(contentsOf: docs.appending(path: String(parts[0])), encoding: .utf8)
            let anchors = page.matches(of: #/(?m)^#+ (.+)$/#).map { match in
                String(match.1.lowercased().replacing(" ", with: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
            }
            #expect(anchors.contains(String(parts[1])), "\(remedy.page)")
        }
    }

    @Test(arguments: [true, false]) func `the remedy of a push says that the server retries only while it does`(isOpen: Bool) throws {
        let time = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
        let push = TracedPush(
            message: 1, receivedAt: time, route: "ios", acceptedAt: time, attemptCount: 2, attemptedAt: time, reason: "BadDeviceToken",
            words: "BadDeviceToken", state: isOpen ? .open(.queued) : .finished(.expired, at: time))
        let lines = TraceEntry(push, to: Installation(keyHash: FixedBytes(), installationID: "phone")).lines
        #expect(lines.contains { $0.hasPrefix("  remedy ") && $0.contains(" The server retries. (docs/") == isOpen }, "\(lines)")
    }
}
