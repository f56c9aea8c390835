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

    @Test(arguments: StoreUnderTest.all)
    func `what waits is told by route and reason, the oldest first, and what became of the accepted`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let routes: Set = [
                RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios"),
                RouteAssignment(tokenType: .firebase, apnTopic: "", route: "android"),
            ]
            _ = try await store.takeOverOutbox(routes: routes, latest: start)
            for number in 1...5 {
                var push = push(number)
                if number == 4 { push.tokenType = .firebase }
                let message = try await store.record(number, at: Self.time(number))
                try await store.apply(at: Self.time(number)) { [push] batch in batch.enqueue(push, message: message) }
            }
            var update = OutboxUpdate()
            update.pushes = [
                .init(id: 1, .finish(.sent), attempt: .init(count: 1, at: Self.time(6))),
                .init(id: 2, .retry(at: Self.time(60), isUnknown: false), reason: .queueFull, attempt: .init(count: 1, at: Self.time(7))),
                .init(id: 3, .finish(.expired)),
            ]
            _ = try await store.update(update, at: Self.time(8))
            let waiting = try await store.waitingPushes(oldest: 2, acceptedSince: Self.time(3))
            #expect(
                waiting.groups == [
                    .init(route: "ios", reason: PushReason.queueFull.rawValue, count: 1, oldestTime: Self.time(2)),
                    .init(route: "android", reason: nil, count: 1, oldestTime: Self.time(4)),
                    .init(route: "ios", reason: nil, count: 1, oldestTime: Self.time(5)),
                ])
            #expect(waiting.oldest.map(\.acceptedAt) == [Self.time(2), Self.time(4)])
            #expect(waiting.oldest.map(\.attemptedAt) == [Self.time(7), nil])
            #expect(waiting.finishedCounts == [.expired: 1] && waiting.openCount == 2)
        }
    }
}
