import Bytes
import Envelope
import Store
import TestServers
import TestSupport
import Testing
import Wire

@testable import Engine

/// What is tried again waits longer after a second failure than after the first, and after a success as if it had never failed.
@Suite(.safetyNet) struct SecondFailureTests {
    /// A rule about failures.
    struct Retry: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The delays after failures, of which nil is a success.
        let delays: [Double?]
        /// Returns a function that fails, or succeeds if that is asked for, and returns the delay until the next attempt.
        let start: @Sendable () -> (_ succeeds: Bool) -> Duration?
    }

    /// Publishes a reply, which fails, or succeeds and is followed by another one.
    private static func publish(_ failure: ReplyQueue.Failure) -> (_ succeeds: Bool) -> Duration? {
        let reply = PendingReply(id: 1, type: .pushNotificationRegistrationResponse, payload: [0], origin: ReplyQueueTests.origin)
        var queue = ReplyQueue(limits: .init(count: 4, byteCount: 100_000, bytesPerSecond: 1 << 20))
        var now = Duration.zero
        _ = queue.add([reply])
        return { succeeds in
            queue.advance(to: now)
            guard let publication = queue.next() else { return .zero }
            guard !succeeds else {
                queue.published(publication)
                _ = queue.add([reply])
                return nil
            }
            _ = queue.failed(publication, failure)
            defer { now = queue.nextTime ?? now }
            return queue.nextTime.map { $0 - now }
        }
    }

    static let retries = [
        Retry(testDescription: "a reply that the network does not take", delays: [0.5, 1, 2, nil, 0.5, 1]) { publish(.network) },
        Retry(testDescription: "a reply that fails by itself", delays: [0.5, 1, 2, nil, 0.5, 1]) { publish(.own) },
        Retry(testDescription: "a message whose row is locked", delays: [1, 2, 4, nil, 1, 2]) {
            var blocked = BlockedMessages()
            var now = Duration.zero
            return { succeeds in
                _ = blocked.startTrials(at: now)
                if succeeds {
                    _ = blocked.succeeded([.message(1)])
                    return nil
                }
                blocked.failed([1], [.message(1)], at: now)
                defer { now = blocked.nextTrialTime ?? now }
                return blocked.nextTrialTime.map { $0 - now }
            }
        },
    ]

    @Test(arguments: retries) func `failure, failure, success, failure`(_ retry: Retry) {
        let attempt = retry.start()
        for delay in retry.delays { #expect(attempt(delay == nil) == delay.map { .milliseconds(Int64($0 * 1_000)) }) }
    }

    /// The store's failures are told when it works again.
    @Test(arguments: 1...3) func `a store that is away tells its failures since the last success, and counts anew`(count: Int) {
        var state = StoreState()
        for _ in 1...2 {
            for _ in 1...count { _ = state.failed(StoreError.unreachable("")) }
            #expect(state.isAway && state.failureCount == count)
            #expect(state.succeeded(state.begin(at: .zero)) == count)
            #expect(!state.isAway && state.failureCount == 0)
        }
    }
}
