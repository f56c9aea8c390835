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
}
