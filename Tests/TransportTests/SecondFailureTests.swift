import Envelope
import TestSupport
import Testing
import WakuREST

@testable import Transport

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

    private static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    /// Returns how long a node rests after a POST that it did not accept.
    private static func pause(after outcome: PublishNodeSelector.Outcome) -> (_ succeeds: Bool) -> Duration? {
        var selector = PublishNodeSelector(count: 2, limit: 9)
        func isResting(after delay: Duration) -> Bool {
            // The other node is preferred only while the first one rests.
            var copy = selector
            return (1...2).allSatisfy { _ in copy.acquire(besides: [], troubled: [], at: now.advanced(by: delay)) == 1 }
        }
        return { succeeds in
            _ = selector.acquire(besides: [1], troubled: [], at: now)
            if outcome == .cancelled { selector.recordSilence(of: 0) }
            selector.release(0, after: succeeds ? .accepted(.nwaku, after: .milliseconds(5)) : outcome, at: now)
            return (1...60).map { Duration.seconds($0) }.first { !isResting(after: $0) }.flatMap { isResting(after: .zero) ? $0 : nil }
        }
    }

    /// Returns how long a poll waits after an event that repeats the work.
    private static func poll(_ event: TopicPoll.Event) -> (_ succeeds: Bool) -> Duration? {
        var poll = TopicPoll(interval: .milliseconds(500), cacheShare: 50)
        return { succeeds in
            let action = poll.note(succeeds ? .took(LiveBatch()) : event)
            return succeeds ? nil : action.delay
        }
    }

    /// What goes wrong with a node's history.
    private enum HistoryFault {
        case query(HistorySync.Failure)
        /// A message of the history is not recorded.
        case recording
        /// The store's pages lead to each other.
        case cycle
    }

    /// Returns how long a node's history waits after a failure.
    private static func history(_ fault: HistoryFault) -> (_ succeeds: Bool) -> Duration? {
        let world = HistoryWorld()
        var history = world.history()
        var number = 0
        history.note(.loaded(world.now.advanced(by: .seconds(-1_000))), at: world.now)
        history.note(.gap, at: world.now)
        /// Goes on to the work that fails.
        func proceed() {
            while true {
                switch (history.action.work, fault) {
                case (.ask, .query), (.ask, .cycle), (.offer, .recording): return
                case (let work, _):
                    guard let event = try? world.carryOut(work) else { return }
                    history.note(event, at: world.now)
                }
            }
        }
        return { succeeds in
            guard !succeeds else {
                // The next comparison finds another message.
                _ = try? world.run(&history)
                world.advance(by: HistorySync.interval)
                history.note(.waited, at: world.now)
                return nil
            }
            number += 1
            world.archive(.seconds(30), number: number)
            proceed()
            switch fault {
            case .query(let failure): return history.note(.failed(failure, "on purpose"), at: world.now).delay
            case .recording: return history.note(.notAccepted, at: world.now).delay
            case .cycle:
                repeat {
                    history.note(.page(world.endlessPage(1)), at: world.now)
                    if history.action.delay == .zero { proceed() }
                } while history.action.delay == .zero
                return history.action.delay
            }
        }
    }

    static let retries = [
        Retry(testDescription: "a node that fails", delays: [1, 2, 4, nil, 1, 2]) { pause(after: .failed) },
        Retry(testDescription: "a node without quota", delays: [1, 2, 4, nil, 1, 2]) { pause(after: .quotaExhausted) },
        Retry(testDescription: "a node that is silent", delays: [1, 2, 4, nil, 1, 2]) { pause(after: .cancelled) },
        Retry(testDescription: "a poll that fails", delays: [0.5, 1, 2, nil, 0.5, 1]) { poll(.failed("on purpose")) },
        Retry(testDescription: "a batch that is not recorded", delays: [0.5, 1, 1, nil, 0.5, 1]) { poll(.notRecorded) },
        Retry(testDescription: "a store that fails", delays: [1, 2, 4, nil, 1, 2, nil, 1]) { history(.query(.other)) },
        Retry(testDescription: "a store's page that is too long", delays: [1, 2, 4, nil, 1, 2, nil, 1]) { history(.query(.tooLarge)) },
        Retry(testDescription: "a store that has lost its row", delays: [1, 2, 4, nil, 1, 2, nil, 1]) { history(.query(.cursorLost)) },
        Retry(testDescription: "a store whose pages form a cycle", delays: [1, 2, 4, nil, 1, 2, nil, 1]) { history(.cycle) },
        Retry(testDescription: "a history that is not recorded", delays: [1, 1, 1, nil, 1, 1, nil, 1]) { history(.recording) },
    ]

    @Test(arguments: retries) func `failure, failure, success, failure`(_ retry: Retry) {
        let attempt = retry.start()
        for delay in retry.delays { #expect(attempt(delay == nil) == delay.map { .milliseconds(Int64($0 * 1_000)) }) }
    }
}
