import Bytes
import Envelope
import Logging
import Store
import TestServers
import TestSupport
import Testing
import Wire

@testable import Engine

/// The publication marks of replies.
@Suite(.safetyNet) struct MarkWriterTests {
    @Test func `the writer does not retry the mark of a message that another server has decided`() async throws {
        try await Harness().withStore { store in
            let now = Timestamp(nanoseconds: 0)
            let envelope = WakuEnvelope(pubsubTopic: TestNode.topic, message: WakuMessage())
            let rows = try await store.record([(envelope.hash, envelope)], at: now).compactMap(\.self)
            try await store.apply(at: now) { batch in
                for row in rows { batch.decide(row, as: .silent) }
            }
            let writer = MarkWriter(
                context: EngineContext(
                    store: store, clock: ManualClock(), wallClock: ManualWallClock(now).clock, logger: quietLogger,
                    admission: Admission(limits: .init(count: 1, byteCount: 1))))
            writer.send(MarkWriter.Mark(rows: rows, completion: .decision))
            async let end: Void = writer.run()
            await writer.waitUntilIdle()
            #expect(writer.count == 0)
            writer.finish()
            await end
        }
    }

    /// The marks of a working store, of one that fails, and again.
    @Test func `marks that the store does not take are written a second later, as often as it takes, and hold up no others`() async throws {
        let harness = try Harness()
        try await harness.withStore { store in
            let now = Timestamp(nanoseconds: 0)
            let rows = try await store.record(
                (UInt8(1)...7).map { number in
                    var message = WakuMessage()
                    message.payload = [number]
                    let envelope = WakuEnvelope(pubsubTopic: TestNode.topic, message: message)
                    return (envelope.hash, envelope)
                }, at: now
            ).compactMap(\.self)
            let clock = ManualClock()
            let writer = MarkWriter(
                context: EngineContext(
                    store: store, clock: clock, wallClock: ManualWallClock(now).clock, logger: quietLogger,
                    admission: Admission(limits: .init(count: 1, byteCount: 1))))
            async let end: Void = writer.run()
            func send(_ row: Int64) { writer.send(MarkWriter.Mark(rows: [row], completion: .decision)) }
            func undecided() async throws -> [Int64] { try await store.unfinishedRows().undecided.sorted() }
            // A message whose mark fails, and those that are marked between two failures.
            for (failing, others) in [(rows[0], [rows[1], rows[2]]), (rows[3], []), (rows[4], [rows[5]])] {
                try harness.execute(
                    sql: """
                        CREATE TRIGGER failing BEFORE UPDATE ON message WHEN NEW.id = \(failing)
                        BEGIN SELECT RAISE(ABORT, 'on purpose'); END
                        """)
                send(failing)
                await clock.sleepers { $0 == [.seconds(1)] }
                for other in others {
                    send(other)
                    clock.advance(by: .seconds(1))
                    await clock.sleepers { $0 == [.seconds(1)] }
                    #expect(try await undecided() == [failing] + rows.filter { $0 > max(failing, other) })
                    #expect(writer.count == 1)
                }
                try harness.execute(sql: "DROP TRIGGER failing")
                clock.advance(by: .seconds(1))
                await writer.waitUntilIdle()
            }
            #expect(try await undecided() == [rows[6]])
            writer.finish()
            await end
        }
    }
}
