import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Which push of a device is next.
@Suite(.safetyNet)
struct NextPushTests {
    @Test(arguments: StoreUnderTest.all)
    func `a device's next push is the oldest untried one, then the one that was tried longest ago`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var pushes = (1...4).map { push($0) }
            for index in 1..<4 { pushes[index].deviceToken = pushes[0].deviceToken }
            try await store.enqueue(pushes)
            let device = try await store.waitingDevices(route: "")[0].device
            func next(besides rows: [Int64] = [], at now: Timestamp = start) async throws -> String {
                switch try await store.lookUp(device, besides: rows, route: "", at: now) {
                case .push(let push, let others):
                    "push \(push.id)" + (others.map { ", others \(start.duration(to: $0) / .seconds(1))" } ?? "")
                case .later(let time): "later \(start.duration(to: time) / .seconds(1))"
                case .moved: "moved"
                case .locked: "locked"
                case .nothing: "nothing"
                }
            }
            #expect(try await next() == "push 1")
            #expect(try await next(besides: [1, 2]) == "push 3")
            #expect(try await next(besides: [1, 2, 3, 4]) == "nothing")
            // Each is attempted one second after the one before, and the third waits for itself.
            for (number, id) in [Int64(2), 1, 3, 4].enumerated() {
                let time = start.advanced(by: .seconds(number))
                try await store.attempt([id], until: id == 3 ? start.advanced(by: .seconds(500)) : time, at: time)
                if number == 0 { #expect(try await next() == "push 1") }
            }
            let later = start.advanced(by: .seconds(10))
            #expect(try await next(at: later) == "push 2, others 1.0")
            for id in [2, 1] as [Int64] { try await store.change([id], to: .finish(.sent)) }
            #expect(try await next(at: later) == "push 4, others 500.0")
            try await store.change([4], to: .finish(.sent))
            #expect(try await next(at: later) == "later 500.0")
            try await store.change([3], to: .finish(.sent))
            #expect(try await next(at: later) == "nothing")
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `what is too old is passed over`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var pushes = (1...2).map { push($0) }
            pushes[1].deviceToken = pushes[0].deviceToken
            try await store.enqueue([pushes[0]])
            let later = start.advanced(by: .seconds(1))
            try await store.enqueue([pushes[1]], at: later)
            let device = try await store.waitingDevices(route: "")[0].device
            let found = try await store.pushes([.next(of: device)], route: "", acceptedSince: later, at: later)
            guard case .push(let push, _)? = found.first else {
                Issue.record("nothing")
                return
            }
            #expect(push.id == 2)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a marked push is not due, and returns what is stored of it now`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.enqueue((1...3).map { push($0) })
            try await store.change([3], to: .finish(.sent))
            let until = start.advanced(by: .seconds(150))
            let marked = try await store.mark([1, 3], until: until)
            #expect(Array(marked.keys) == [1] && marked[1]?.push == push(1))
            #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.id) == [2])
            #expect(try await store.duePushes(route: "", at: until, limit: 9).map(\.state) == [.unknown, .queued])
            try await store.change([1], to: .release(.queued))
            let due = try await store.duePushes(route: "", at: start, limit: 9)
            #expect(due.map(\.id) == [1, 2] && due.map(\.state) == [.queued, .queued] && due.map(\.attempts) == [0, 0])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `pushes whose attempts got no answer are brought forward, those first that have waited longest`(kind: StoreUnderTest) async throws
    {
        try await kind.withStore { store in
            let told = Told(store)
            try await store.enqueue(
                (1...4).map {
                    var push = push($0)
                    push.deviceToken = DeviceToken("device \($0)")
                    return push
                })
            func unanswered(_ id: Int64, _ count: Int, forward: Int = 0, at seconds: Int) async throws {
                let time = start.advanced(by: .seconds(seconds))
                var update = OutboxUpdate()
                let uncertain = UncertainAttempts(unansweredCount: count, broughtForwardCount: forward)
                update.pushes = [
                    .init(
                        id: id, .retry(at: time.advanced(by: .seconds(150 * count)), isUnknown: true),
                        attempt: .init(count: count, at: time, uncertain: uncertain))
                ]
                _ = try await store.update(update, at: time)
            }
            try await unanswered(1, 5, at: 100)
            try await unanswered(2, 1, at: 0)
            try await unanswered(3, 4, forward: 2, at: 50)
            try await store.attempt([4], until: start.advanced(by: .seconds(999)))
            #expect(try await store.uncertainDevices(route: "", limit: 9).count == 3)
            _ = told.take()
            let now = start.advanced(by: .seconds(120))
            #expect(try await store.bringForward(route: "", limit: 1, at: now) == 1)
            // The second is due as soon as it may be, and the first and third wait for 150 s and three times as long after their requests.
            #expect(try await store.bringForward(route: "", limit: 9, at: now) == 1)
            #expect(try await store.bringForward(route: "", limit: 9, at: now) == 0)
            let times = told.take().devices.compactMap(\.due).map { start.duration(to: $0) / .seconds(1) }
            #expect(times == [500, 250])
            let due = try await store.duePushes(route: "", at: start.advanced(by: .seconds(500)), limit: 9)
            #expect(due.map(\.id) == [1, 2, 3] && due.map(\.uncertain.broughtForwardCount) == [1, 0, 3])
        }
    }
}
