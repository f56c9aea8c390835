import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// What `pushctl trace` reads.
@Suite(.safetyNet) struct TraceTests {
    private static func time(_ seconds: Int) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test(arguments: StoreUnderTest.all)
    func `a trace has the time of each event in the life of a push`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let messageID: [UInt8] = [9]
            var report = PushNotificationReport()
            report.success = true
            report.publicKey = installation().keyHash.bytes
            report.installationID = installation().installationID
            var response = PushNotificationResponse()
            response.messageID = messageID
            response.reports = [report]
            var reply = reply()
            reply.payload = response.encoded()
            var push = push()
            push.deduplicationKey = DeduplicationKey.digest(messageID: messageID, installation: push.target)

            let message = try await store.record(1, at: Self.time(1))
            try await store.apply(at: Self.time(2)) { [push, reply] batch in
                batch.decide(message, as: .answered(reply))
                batch.enqueue(push, message: message)
            }
            try await store.attempt([1], until: Self.time(10), at: Self.time(3))
            var update = OutboxUpdate()
            update.pushes = [.init(id: 1, .finish(.sent), attempt: .init(count: 2, at: Self.time(11)))]
            _ = try await store.update(update, at: Self.time(12))

            let traced = try #require(try await store.tracePushes(to: push.target).first)
            #expect(traced.receivedAt == Self.time(1) && traced.acceptedAt == Self.time(2))
            #expect(traced.attemptedAt == Self.time(11) && traced.attemptCount == 2)
            #expect(traced.state == .finished(.sent, at: Self.time(12)))
            let request = try #require(try await store.traceRequests(messageID).first)
            #expect(request.receivedAt == Self.time(1) && request.decidedAt == Self.time(2))
            #expect(request.reports.map(\.push) == [traced])
        }
    }
}
