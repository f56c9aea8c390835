import Bytes
import PushProtocol
import Store
import Tasks
import TestSupport
import Testing

@testable import Delivery

/// The writes between two attempts, in a real database.
@Suite(.safetyNet) struct OutcomeRecordingTests {
    private let context = OutcomeContext(
        route: "", rules: OutcomeRules(), now: World.start, savedTopics: [], steadyNow: World.start)

    private func plan(_ pushes: [QueuedPush]) -> DeliveryPlan {
        DeliveryPlan(
            batches: pushes.map { [DeliveryItem(identifier: FixedBytes(repeating: UInt8($0.id)), notification: .android(), pushes: [$0])] })
    }

    @Test("Outcomes are recorded even if a push of the next lease has finished since it was read", arguments: [false, true])
    func settleAndLease(hasEnded: Bool) async throws {
        let world = try World()
        try await world.withStore { store in
            try await world.accept((1...4).map { androidPush($0) }, in: store)
            let due = try await store.duePushes(route: "", at: World.start, limit: 4)
            #expect(try await store.recordOutcomes([], leasing: plan(Array(due[..<2])), in: context, jitter: { 0 }).isLeased)
            if hasEnded {
                var update = OutboxUpdate()
                update.pushes = [.init(id: due[3].id, .finish(.withdrawn))]
                _ = try await store.update(update, at: World.start)
            }

            let failure = Failure(kind: .transient, reason: .serviceUnavailable, words: "come back later")
            let attempts: [PushAttempt] = [
                .init(push: due[0], outcome: .sent, at: World.start),
                .init(push: due[1], outcome: .failed(failure), at: World.start, ownDelay: .seconds(2)),
            ]
            let recorded = try await store.recordOutcomes(attempts, leasing: plan(Array(due[2...])), in: context, jitter: { 0 })
            #expect(recorded.isLeased == !hasEnded)
            let retry = PushDecision.Disposition.retry(after: .seconds(2), isUnknown: false)
            #expect(recorded.decisions.map(\.disposition) == [.finish(.sent), retry])
            #expect(try await store.progress(ofPush: due[1].push.deduplicationKey)?.words == failure.words)
            #expect(try await store.auditFacts().rowCounts[.sent] == 1)
            #expect(try await world.count("attempts = 1 AND state = \(OpenPushState.queued.rawValue)") == 1)
            #expect(try await world.count("state = \(OpenPushState.leased.rawValue)") == (hasEnded ? 0 : 2))
        }
    }
}
