import Envelope
import Logging
import Store
import Synchronization
import TestSupport
import Testing

@testable import Daemon

/// Background work that fails more than once.
@Suite(.safetyNet) struct SecondFailureTests {
    /// A store whose steps fail or succeed in this order, and then are done.
    private final class Steps: SealedStore {
        private let results: Mutex<[Bool]>

        init(_ results: [Bool]) { self.results = Mutex(results) }

        func resealNext() async throws -> SealingProgress {
            guard let succeeds = results.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return .sealed }
            guard succeeds else { throw StoreError.unreachable("on purpose") }
            return .resealing(0)
        }

        func sealingProgress() async throws -> SealingProgress { try await resealNext() }
    }

    @Test func `re-sealing waits twice as long after each failure, and a moment after a success`() async throws {
        let log = LogLines()
        let clock = ManualClock()
        let results = [false, false, false, true, false, false, true]
        let service = ResealingService(store: Steps(results), clock: clock, logger: log.logger)
        let running = Task { try await service.run() }
        var failureCount = 0
        for succeeds in results {
            failureCount = succeeds ? 0 : failureCount + 1
            let longest = succeeds ? Duration.milliseconds(10) : .seconds(1 << (failureCount - 1))
            let shortest = succeeds ? longest : longest / 2
            await clock.sleepers { $0.count == 1 }
            let delay = clock.sleepers.first ?? .zero
            #expect(shortest <= delay && delay <= longest)
            clock.advance(by: longest)
        }
        #expect(log.all.count { $0.contains("re-sealing failed; retrying") } == 2)
        running.cancel()
        _ = await running.result
    }

    @Test(arguments: 0...2) func `the times that the database has lost are counted, each once`(count: Int) async throws {
        let start = Timestamp(nanoseconds: 0)
        let lost = (0..<count).map { number in
            LostTime(start: start, end: start.advanced(by: .seconds(number)), noticedAt: start.advanced(by: .seconds(9)))
        }
        try await CountedMetrics.with { counted in
            let times = try await LostTimes(
                of: StubCluster(lost: lost), wallClock: WallClock { start.advanced(by: .seconds(10)) }, logger: quietLogger)
            #expect(times.warnings.count == count)
            #expect(counted.all == (count == 0 ? [:] : ["pushserver_database_lost_times_total": count]))
        }
    }
}
