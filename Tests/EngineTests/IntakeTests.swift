import Bytes
import Envelope
import PushProtocol
import Store
import Tasks
import TestSupport
import Testing
import Transport
import Wire

@testable import Engine

/// The server rejects messages beyond the intake's capacity before it records them, without a wait.
@Suite(.safetyNet) struct IntakeTests {
    /// A fault that keeps messages in the intake: the server retries each undecided message.
    static let fault = "CREATE TRIGGER fault BEFORE UPDATE ON message BEGIN SELECT RAISE(ABORT, 'on purpose'); END"

    let harness: Harness
    let alice: ProtocolClient

    init() throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
    }

    private func junk(_ byteCount: Int) -> WakuEnvelope {
        alice.wrap([UInt8](repeating: 0x5A, count: byteCount), topic: TopicName.partitioned(harness.server).topic)
    }

    @Test(arguments: [(2, 32 << 20, Overload.messageCount), (4_096, 80_000, .byteCount)])
    func `messages beyond the intake's limits are rejected unrecorded, and admitted again once capacity is free`(
        maximumCount: Int, maximumByteCount: Int, reason: Overload
    ) async throws {
        let envelopes = (0..<5).map { _ in junk(40_000) }
        try await harness.withServer(maximumIntakeCount: maximumCount, maximumIntakeByteCount: maximumByteCount) { [harness] server in
            try harness.execute(sql: Self.fault)
            for envelope in envelopes.prefix(2) { try await server.publishOnce(envelope) }
            for envelope in envelopes.dropFirst(2) {
                await #expect(throws: reason) { try await server.publishOnce(envelope) }
            }
            #expect(server.engine.inFlightCount == 2)
            #expect(server.engine.intakeByteCount <= 2 * 41_000)
            #expect(try await server.store.unfinishedRows().undecided.count == 2)
            #expect(server.engine.overloadWarning?.contains(reason.rawValue) == true)
            #expect(!server.engine.healthIssues.contains { $0.contains(reason.rawValue) })

            try harness.execute(sql: "DROP TRIGGER fault")
            try await harness.whileTimePasses {
                for envelope in envelopes { try await server.publish(envelope) }
                await server.engine.waitUntilIdle()
            }
            #expect(try await Audit(server.store.auditFacts()).balances)
            harness.clock.advance(by: .seconds(60))
            #expect(server.engine.overloadWarning == nil)
        }
    }

    @Test func `the store is behind only while its oldest write takes more than five seconds`() async throws {
        let clock = ManualClock()
        let health = StoreHealth(time: SteadyTime(clock: clock, start: Timestamp(nanoseconds: 0)), logger: quietLogger)
        await health.timing { _ in
            clock.advance(by: .seconds(4))
            await health.timing { _ in
                clock.advance(by: .seconds(1))
                #expect(!health.isBehind)
                clock.advance(by: .milliseconds(1))
                #expect(health.isBehind)
            }
        }
        #expect(!health.isBehind)
    }
}
