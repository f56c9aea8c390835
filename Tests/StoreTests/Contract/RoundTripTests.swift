import Bytes
import Envelope
import PushProtocol
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Values of which each field is kept.
@Suite(.safetyNet) struct RoundTripTests {
    /// The tests of this folder store these values and compare what they read.
    @Test func `the values that tests store and read have something else in each field`() {
        expectAllFields(of: [envelope(), envelope(2)])
        expectAllFields(of: [reply()])
        expectAllFields(of: [topics])
        expectAllFields(of: [OriginStoreTests.device(2)])
        expectAllFields(of: [OriginStoreTests.push(2)])
        expectAllFields(of: [ProxyStoreTests.device(1)])
        let content = registration().content
        expectAllFields(of: [
            (
                content.tokenType, content.deviceToken, content.installationID, content.accessToken, content.version,
                content.allowedKeyList, content.blockedChatList, content.grant, content.apnTopic, content.allowedMentionsChatList,
                content.mutedChatList
            )
        ])
        expectAllFields(
            of: [push()].map {
                ($0.target, $0.deduplicationKey, $0.tokenType, $0.deviceToken, $0.apnTopic, $0.type, $0.chatID, $0.message)
            })
        expectAllFields(
            of: GatewayOutboxTests.notifications.map {
                (
                    $0.platform, $0.token, $0.topic, $0.kind, $0.priority, $0.alert, $0.sound, $0.badge, $0.isContentAvailable,
                    $0.isMutable, $0.threadID, $0.collapseID, $0.isTriedOnce, $0.isCall, $0.data
                )
            })
    }

    private static func time(_ seconds: Int64) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    @Test(arguments: StoreUnderTest.all)
    func `what an attempt has told about a push and its device is kept`(kind: StoreUnderTest) async throws {
        let refusals = PushRefusals(refusedAt: Self.time(2), countedCount: 3, shortening: .refused)
        let uncertain = UncertainAttempts(unansweredCount: 6, broughtForwardCount: 7, brokenCount: 8)
        let suspicions = [false, true].map {
            Suspicion(
                since: Self.time(9), refusedAt: Self.time(10), refusalCount: 11, countedCount: 12, firstCountedAt: Self.time(13),
                isProven: $0)
        }
        expectAllFields(of: [refusals])
        expectAllFields(of: [uncertain])
        expectAllFields(of: suspicions)
        try await kind.withStore { store in
            _ = try await store.takeOverOutbox(
                routes: [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")], latest: Self.time(999))
            let message = try await store.record(1, at: Self.time(20))
            try await store.enqueue([push()], message: message, at: Self.time(21))
            for suspicion in suspicions {
                var update = OutboxUpdate()
                update.pushes = [
                    .init(
                        id: 1, .retry(at: Self.time(1), isUnknown: true), reason: .quotaExceeded, words: "words", refusals: refusals,
                        attempt: .init(count: 4, at: Self.time(5), uncertain: uncertain))
                ]
                update.tokens = [.suspect(push().targetDigest, suspicion, route: "ios")]
                _ = try await store.update(update, at: Self.time(22))
                let found = try #require(try await store.duePushes(route: "ios", at: Self.time(1), limit: 1).first)
                var expected = QueuedPush(id: 1, request: message, push: push(), acceptedAt: Self.time(21), state: .unknown, attempts: 4)
                (expected.trust, expected.device) = (.unknownBundleID, found.device)
                (expected.uncertain, expected.refusals, expected.suspicion) = (uncertain, refusals, suspicion)
                #expect(found == expected)
                #expect(try await store.suspicions(against: [push().targetDigest], in: "ios").byTarget.values.map(\.self) == [suspicion])
            }
            let trace = TracedPush(
                message: message, receivedAt: Self.time(20), route: "ios", acceptedAt: Self.time(21), attemptCount: 4,
                attemptedAt: Self.time(5), reason: PushReason.quotaExceeded.rawValue, words: "words", state: .open(.unknown))
            expectAllFields(of: [trace])
            #expect(try await store.tracePushes(to: push().target) == [trace])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `what operators read of registrations is what was stored`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var summaries: [RegistrationSummary] = []
            for number in 1...3 {
                var registration = registration(installation(number), version: UInt64(number + 10))
                (registration.content.tokenType, registration.content.enabled) = number == 1 ? (.firebase, false) : (.apn, true)
                registration.content.apnTopic = "app \(number)"
                try await store.register(registration, at: Self.time(Int64(number)))
                summaries.append(
                    RegistrationSummary(
                        installationID: "installation-\(number)", version: UInt64(number + 10), isLive: true,
                        updatedAt: Self.time(Int64(number)), tokenType: registration.content.tokenType,
                        apnTopic: registration.content.apnTopic, isEnabled: registration.content.enabled))
            }
            #expect(try await store.registrationSummaries(of: installation().keyHash) == summaries)
            _ = try await store.unregister(
                token: registration(version: 13).content.deviceToken, apnTopic: "app 3", attemptedAt: Self.time(4), at: Self.time(5))
            let dead = DeadRegistration(
                id: 1, diedAt: Self.time(5), reason: PushReason.apnsUnregistered.rawValue, route: "ios", installation: installation(3),
                version: 13)
            #expect(try await store.deadRegistrations(limit: 9) == [dead])
            for number in 1...5 {
                let device = ProxyStoreTests.device(number)
                try await store.changeDevice(device.identifier, at: start) { _ in (.put(device), ()) }
            }
            for number in Int64(1)...4 {
                let device = OriginStoreTests.device(number)
                try await store.changeOriginDevices(of: device.user) { _ in (OriginChange(put: device), ()) }
            }
            for number in 4...6 { try await store.register(registration(installation(number))) }
            try await store.unregister(installation(4), version: 2)
            #expect(
                try await store.registrationCounts()
                    == RegistrationCounts(live: [.apn: 3, .firebase: 1], tombstones: 2, nextcloud: 5, nextcloudOrigin: 4))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `holds, clocks, checkpoints and holes are kept`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let hold = RouteHold(route: "ios", start: Self.time(1), end: Self.time(2))
            try await store.hold([hold])
            #expect(try await store.routeHolds() == [hold])
            let clock = StoredClock(readAt: Self.time(3), expectedAt: Self.time(4), heldFor: .seconds(5))
            try await store.save(clock)
            #expect(try await store.clock() == clock)
            let topic = "/waku/2/rs/16/32"
            var progress = HistoryProgress(of: topic, at: "node:8645", checkpoint: Self.time(600), now: Self.time(1_000))
            progress.missed = [Self.time(100)...Self.time(900)]
            try await store.save(progress)
            try await store.save(HistoryProgress(of: topic, checkpoint: Self.time(700), now: Self.time(1_000)))
            #expect(
                try await store.checkpoints(of: topic) == [
                    topic: Self.time(700), HistoryProgress.checkpointName(of: topic, at: "node:8645"): Self.time(600),
                ])
            let hole = Hole(Self.time(100)...Self.time(900), foundAt: Self.time(1_000))
            expectAllFields(of: [hold])
            expectAllFields(of: [(clock.readAt, clock.expectedAt)])
            expectAllFields(of: [hole])
            #expect(try await store.holes(of: topic).holes == [hole])
            for (time, listed) in [(Self.time(999), []), (Self.time(1_001), [hole])] {
                var progress = HistoryProgress(of: topic, checkpoint: Self.time(700), now: Self.time(1_002))
                progress.listedAt = time
                try await store.save(progress)
                #expect(try await store.holes(of: topic).listed == listed)
            }
        }
    }
}
