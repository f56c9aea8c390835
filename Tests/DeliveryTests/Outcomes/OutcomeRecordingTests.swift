import Bytes
import Envelope
import PushProtocol
import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// The writes between two attempts, in a real database.
@Suite(.safetyNet) struct OutcomeRecordingTests {
    private let context = OutcomeContext(
        route: "", rules: OutcomeRules(), now: World.start.advanced(by: .seconds(600)), savedTopics: [])

    @Test func `outcomes are recorded with the attempts they count`() async throws {
        let world = try World()
        try await world.withStore { store in
            try await world.accept((1...3).map { androidPush($0) }, in: store)
            let due = try await store.duePushes(route: "", at: World.start, limit: 4)
            let failure = Failure(kind: .transient, reason: .serviceUnavailable, words: "come back later")
            let attempts: [PushAttempt] = [
                .init(push: due[0], outcome: .sent, at: World.start),
                .init(push: due[1], outcome: .failed(failure), at: World.start, ownDelay: .seconds(2)),
            ]
            // A write that is repeated, because its end was not known, changes nothing more.
            for _ in 1...2 {
                let recorded = try await store.recordOutcomes(attempts, in: context)
                let retry = PushDecision.Disposition.retry(after: .seconds(2), isUnknown: false)
                #expect(recorded.decisions.map(\.disposition) == [.finish(.sent), retry])
            }
            #expect(try await store.progress(ofPush: due[1].push.deduplicationKey)?.words == failure.words)
            #expect(try await store.auditFacts().rowCounts[.sent] == 1)
            // The wait counts from the answer, however late it is recorded.
            let next = World.start.advanced(by: .seconds(2)).nanoseconds
            #expect(try await world.count("attempts = 1 AND state = \(OpenPushState.queued.rawValue) AND next_attempt_at = \(next)") == 1)
            #expect(try await world.count("attempts = 1 AND state = \(PushOutcome.sent.rawValue)") == 1)
        }
    }
}
