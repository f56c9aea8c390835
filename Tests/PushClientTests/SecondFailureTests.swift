import Envelope
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing

@testable import PushClient

/// What is tried again waits longer after a second failure than after the first, and after a success as if it had never failed.
@Suite(.safetyNet) struct SecondFailureTests {
    private static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    private static let key = Identity(.test(1)).publicKey

    /// The longest delay after a number of failures. The shortest is half as long.
    private func expect(_ delay: Duration, afterFailures count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        let longest = Duration.seconds(1 << count)
        #expect(longest / 2 <= delay && delay <= longest, "failure \(count)", sourceLocation: sourceLocation)
    }

    @Test(arguments: [false, true]) func `a server and its node are each tried by their own failures`(isOfNode: Bool) {
        var random = SplitMix64(seed: 1)
        var entry = ServerEntry(server: Self.key, isWanted: true)
        let request = ServerEntry.Request(requestID: "id", version: 5, generation: 0, sentAt: Self.now)
        for _ in 1...2 {
            for count in 1...4 {
                let delay = entry.fail(isOfNode: isOfNode, at: Self.now, using: &random)
                expect(delay, afterFailures: count)
                #expect(entry.status(generation: 0).failureCount == count)
                #expect(entry.attempt(after: Self.now, generation: 0) == Self.now.advanced(by: delay))
            }
            if isOfNode { entry.noteRecovery() } else { entry.confirm(request) }
            #expect(entry.status(generation: 0).failureCount == 0)
            entry.forgetConfirmation()
        }
    }

    @Test func `a node that recovers leaves the server's failures, and a server's failure ends the node's`() {
        var random = SplitMix64(seed: 1)
        var entry = ServerEntry(server: Self.key, isWanted: true)
        for _ in 1...3 { _ = entry.fail(isOfNode: false, at: Self.now, using: &random) }
        for count in 1...2 { expect(entry.fail(isOfNode: true, at: Self.now, using: &random), afterFailures: count) }
        entry.noteRecovery()
        expect(entry.fail(isOfNode: false, at: Self.now, using: &random), afterFailures: 4)
        expect(entry.fail(isOfNode: true, at: Self.now, using: &random), afterFailures: 1)
        expect(entry.fail(isOfNode: false, at: Self.now, using: &random), afterFailures: 5)
        expect(entry.fail(isOfNode: true, at: Self.now, using: &random), afterFailures: 1)
    }

    @Test func `a push that waits is tried after 4, 16, 48 seconds, and the next push from the start`() throws {
        var unsent = UnsentPushes()
        let recipients = [Recipient(Self.key)]
        for number in 1...2 {
            unsent.add(PushMessage(kind: .message, messageID: [1]), to: recipients, maximumDeviceCount: 1, at: Self.now)
            for seconds in [4, 16, 48, 128] {
                #expect(unsent.nextAttempt == Self.now.advanced(by: .seconds(seconds)))
                unsent.recordAttempt(number, remaining: recipients, at: Self.now)
            }
            unsent.recordAttempt(number, remaining: [], at: Self.now)
            #expect(unsent.entries.isEmpty)
        }
    }
}
