import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestSupport
import Testing
import Wire

/// What a store tells a route of its queue.
@Suite(.safetyNet)
struct ArrivalsTests {
    @Test(arguments: StoreUnderTest.all)
    func `each way into the queue tells the route for which device`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let told = Told(store)
            try await store.register(registration())
            var own = push()
            (own.deviceToken, own.apnTopic) = (registration().content.deviceToken, registration().content.apnTopic)
            let pushes = (1...2).map { number in
                own.deduplicationKey = hash(100 + number)
                return own
            }
            let due = start.advanced(by: .seconds(5))
            try await store.apply(at: start) { batch in
                for push in pushes { batch.enqueue(push, message: 1) }
                batch.enqueue(push(2), message: 1, due: due)
            }
            let devices = told.take().devices
            #expect(devices.map(\.due) == [nil, nil, due] && devices.allSatisfy { $0.trust == .unknownBundleID })
            // A bundle id that becomes known moves its pushes. A route counts them.
            var update = OutboxUpdate()
            update.deliveredBundleIDs = [("", own.apnTopic)]
            _ = try await store.update(update, at: start)
            #expect(told.take().devices.map(\.trust) == [.unproven, .unproven])
            // Another token makes the old device due once, and its pushes move when it is looked up.
            var renewed = registration(version: 2)
            renewed.content.deviceToken = "another token"
            try await store.register(renewed)
            #expect(told.take().changed == [devices[0].device])
            let old = devices[0].device
            guard case .moved = try await store.lookUp(old, route: "", at: start) else {
                Issue.record("not moved")
                return
            }
            let new = told.take().devices.map(\.device)
            #expect(new.count == 2 && Set(new).count == 1 && new[0] != old)
            guard case .push(let push, _) = try await store.lookUp(new[0], route: "", at: start) else {
                Issue.record("no push")
                return
            }
            #expect(push.push.deviceToken == "another token" && push.device == new[0])
            guard case .nothing = try await store.lookUp(old, route: "", at: start) else {
                Issue.record("not nothing")
                return
            }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `what failed tells nothing and takes no slot`(kind: StoreUnderTest) async throws {
        try await kind.withSmallQueue { store in
            struct Refused: Error {}
            for number in 1...9 {
                _ = try? await store.apply(at: start) { batch in
                    batch.enqueue(push(number), message: 1)
                    // No message has that row, so the batch fails.
                    batch.decide(999, as: .silent)
                }
            }
            #expect(try await store.queuedPushCount() == 0)
            try await store.enqueue((11...14).map { push($0) })
            #expect(try await store.queuedPushCount() == 4 && store.refusedPushCounts == [:])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `calls are found apart, with what is known of their devices`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let told = Told(store)
            var call = GatewayNotification(platform: .ios, token: "ab", topic: "org.named.voip", kind: .voip, priority: .high, data: [:])
            call.isCall = true
            func ring(_ number: Int) async throws {
                let accepted = AcceptedNotification(call, digest: hash(number))
                _ = try await store.enqueue([accepted], repeatsSince: nil, isDiscarded: false, at: start.advanced(by: .seconds(number)))
            }
            try await ring(1)
            var update = OutboxUpdate()
            update.tokens = [.deliveredToken(AcceptedNotification(call, digest: hash(1)).targetDigest)]
            _ = try await store.update(update, at: start)
            try await ring(2)
            let calls = try await store.waitingCalls(route: "", limit: 9)
            #expect(calls.map(\.row) == [1, 2] && calls.map(\.hasWorked) == [false, true] && told.take().calls == calls)
            #expect(calls.map(\.acceptedAt) == [1, 2].map { start.advanced(by: .seconds($0)) })
            guard case .nothing = try await store.lookUp(calls[0].device, route: "", at: start) else {
                Issue.record("a call is no push of its device")
                return
            }
            let found = try await store.pushes([.row(2)], route: "", acceptedSince: start, at: start)
            guard case .push(let push, _)? = found.first else {
                Issue.record("no call")
                return
            }
            #expect(push.trust == .call && push.isCallToWorkingDevice && push.notification?.isCall == true)
            let later = start.advanced(by: .seconds(2))
            #expect(try await store.expireCalls(route: "", acceptedBefore: later, limit: 9, at: later) == 1)
            #expect(try await store.waitingCalls(route: "", limit: 9).map(\.row) == [2])
        }
    }
}

/// What a store has told of a route.
final class Told: Sendable {
    private let arrivals = Mutex<[Arrivals]>([])

    init(_ store: any PushStore) {
        store.tell { [self] route, told in if route.isEmpty { arrivals.withLock { $0.append(told) } } }
    }

    func take() -> Arrivals {
        arrivals.withLock { arrivals in
            defer { arrivals = [] }
            return Arrivals(
                devices: arrivals.flatMap(\.devices), calls: arrivals.flatMap(\.calls), changed: arrivals.flatMap(\.changed))
        }
    }
}
