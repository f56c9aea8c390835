import Bytes
import Envelope
import Logging
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestServers
import TestSupport
import Testing
import Wire

@testable import Engine

/// Segmented messages with a segment that another server owns.
@Suite(.safetyNet) struct SharedSegmentsTests {
    @Test func `the rows of a segmented message are read again when another server has decided one`() async throws {
        try await withRows { rows, admission, context in
            let harness = try Harness()
            let marks = MarkWriter(context: context)
            let replies = ReplyStage(
                queue: ReplyQueue(limits: .init(count: 10, byteCount: 1_000, bytesPerSecond: 1_000)),
                sealer: ReplySealer(identity: harness.identity),
                transport: TestTransport(replies: harness.replies, publishing: FailingPublisher()), context: context, to: marks)
            let stage = CommitStage(
                decider: Decider(serverKey: harness.server.compressed, registrationPolicy: RegistrationPolicy(), isDryRun: false),
                directory: try await TopicDirectory(serverKey: harness.server, store: context.store), context: context,
                onAcceptedPushes: {}, to: replies)
            var message = OpenedEnvelope.dropped(rows[1])
            message.segments = [rows[0]]
            stage.send([.decide(message, admission.permitRow())])
            async let end: Void = stage.run()
            #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 10) } == rows)
            stage.finish()
            await end
            #expect(try await context.store.undecided(rows).map(\.id) == [rows[1]])
        }
    }

    @Test func `the rows of a segmented query are read again when another server has decided one`() async throws {
        try await withRows { rows, admission, context in
            let writer = MarkWriter(context: context)
            writer.send(MarkWriter.Mark(rows: rows, completion: .decision))
            async let end: Void = writer.run()
            await writer.waitUntilIdle()
            #expect(await admission.wait { $0.nextRows(.undecided, maximumCount: 10) } == rows)
            writer.finish()
            await end
        }
    }

    /// Passes two recorded rows to the body. The first is decided.
    private func withRows(_ body: ([Int64], Admission, EngineContext) async throws -> Void) async throws {
        try await Harness().withStore { store in
            let now = Timestamp(nanoseconds: 0)
            let envelopes = [UInt8](1...2).map { number in
                var message = WakuMessage()
                message.payload = [number]
                return WakuEnvelope(pubsubTopic: TestNode.topic, message: message)
            }
            let rows = try await store.record(envelopes.map { ($0.hash, $0) }, at: now).compactMap(\.self)
            try await store.apply(at: now) { $0.decide(rows[0], as: .silent) }
            let admission = Admission(limits: .init(count: 10, byteCount: 1 << 20))
            try await body(
                rows, admission,
                EngineContext(
                    store: store, clock: ManualClock(), wallClock: ManualWallClock(now).clock, logger: quietLogger,
                    admission: admission))
        }
    }
}
