import Envelope
import Logging
import Observation
import PushClientTesting
import Store
import Synchronization
import TestServers
import TestSupport
import Testing
import Transport

@testable import Daemon
@testable import Settings

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

    /// A network whose server answers the canary, and that is down while a test wants it.
    private final class CanaryNetwork: MessageTransport {
        let network = FakeNetwork(serverCount: 1)
        private let replies = Mutex<(@Sendable (WakuEnvelope) -> Void)?>(nil)

        func pass(to receive: @escaping @Sendable (WakuEnvelope) -> Void) { replies.withLock { $0 = receive } }

        func publish(_ envelope: WakuEnvelope) async throws {
            let count = network.envelopes.count
            try await network.publish(envelope)
            for reply in network.envelopes.dropFirst(count + 1) { replies.withLock { $0 }?(reply) }
        }

        func run(receiver: any EnvelopeReceiver) async throws {}
        var healthIssues: [String] { [] }
    }

    @Test(arguments: [25, 60] as [Int64])
    func `the canary checks again after half a minute at most once a check fails, and after its interval once one succeeds`(
        interval: Int64
    ) async throws {
        let transport = CanaryNetwork()
        let node = CanaryNode(transport: transport)
        transport.pass { node.receive($0) }
        let (clock, log) = (ManualClock(), LogLines())
        let server = transport.network.servers[0]
        let canary = try Canary(
            CanarySettings(interval: .seconds(interval)), identity: server.key, serverName: "one", node: node,
            pubsubTopic: FakeServer.pubsubTopic, clock: clock, wallClock: transport.network.clock.wallClock, logger: log.logger
        ) { _ in nil }
        let running = Task { try await canary.run() }
        var changeCounts = (fails: 0, works: 0)
        var earlier = true
        for succeeds in [false, false, true, false, false, true, true, false] {
            if !succeeds, earlier { changeCounts.fails += 1 }
            if succeeds, !earlier { changeCounts.works += 1 }
            earlier = succeeds
            await clock.sleepers { $0.count == 1 }
            transport.network.setDown(!succeeds)
            clock.advance(by: clock.sleepers.first ?? .zero)
            await clock.sleepers { $0 == [.seconds(succeeds ? interval : min(interval, 30))] }
            #expect((canary.status.problem == nil) == succeeds && canary.warnings.isEmpty == succeeds)
            #expect(log.all.count { $0.contains("the canary fails") } == changeCounts.fails)
            #expect(log.all.count { $0.contains("the canary no longer fails") } == changeCounts.works)
            if succeeds { #expect(canary.lastSuccessAge == .zero) }
        }
        #expect(server.registrationCount == 1)
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
